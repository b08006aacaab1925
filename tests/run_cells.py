# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the code of a notebook without Jupyter, then prints an expression of what it made, as JSON.

python run_cells.py docs/notebooks/NAME.ipynb 'EXPRESSION'
"""

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")


def main() -> None:
    file, expression = sys.argv[1:]
    made = {"__name__": "__main__"}
    for cell in json.loads(Path(file).read_text())["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), cell["id"], "exec"), made)
    print(json.dumps(eval(expression, made)))


if __name__ == "__main__":
    main()
