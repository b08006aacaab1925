# SPDX-License-Identifier: GPL-2.0-or-later
"""What `import perhop` gives to programs and notebooks: experiments as objects, their runs, and results as tables."""
