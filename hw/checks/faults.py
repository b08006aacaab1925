# SPDX-License-Identifier: GPL-2.0-or-later
"""The faults that are planted: each one thing wrong in one file, and the check that must say so.

Most have happened to somebody: a parameter that is not handed on, a constraint that lost its cells, a page that kept
an old figure.
"""

from __future__ import annotations

from dataclasses import dataclass

CORES = "hw/images/image_cores.py"
BLOCK = "hw/rfnoc/fpga/rfnoc_block_perhop/rfnoc_block_perhop.v"
STREAM = "hw/rfnoc/fpga/rfnoc_block_perhop_stream/rfnoc_block_perhop_stream.v"
BLOCK_YAML, STREAM_YAML = "hw/rfnoc/blocks/perhop.yml", "hw/rfnoc/blocks/perhop_stream.yml"
SHELL, RADIO_TOP, PHY = "hw/fpga/shell_top.sv", "gateware/rtl/top/radio_top.sv", "gateware/rtl/phy/dsss_phy.sv"
FIFO, BIT = "hw/fpga/cdc_fifo.sv", "hw/fpga/cdc_bit.sv"
XDC = "hw/rfnoc/fpga/perhop.xdc"
GUIDE, AREA_PAGE, AREA_REPORT = "hw/README.md", "hw/reports/area.md", "hw/reports/area.py"
SPEC = "host/python/perhop/registers/spec_generated.py"
DELAYS = "host/python/perhop/registers/radio.py"

# Pieces of image_cores.py, perhop.xdc and cdc_fifo.sv.
OTHER = 'link("perhop0.other", "radio0.radio"),'
WRITTEN = "\\\n  -from [get_cells -hierarchical -filter {NAME =~ *cdc_written"
MEMORY = "*cdc_memory_reg*"
WORDS = f"[get_pins -hierarchical -filter {{NAME =~ {MEMORY}/O* || NAME =~ {MEMORY}/DO*}}]"
MEMORIES = f"[get_cells -hierarchical -filter {{NAME =~ {MEMORY}}}]"
WRITE = "if (give) cdc_memory[written_q[DEPTH_LOG2-1:0]] <= s_data;"


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong."""

    name: str
    check: str
    """Which must find it."""
    says: str
    """Part of what it must say."""
    file: str
    old: str
    """Stands in the file once."""
    new: str
    image: str = ""
    """Which image, or kind of image, has it; else e320_perhop_22, perhop."""


IMAGES = [
    Fault("the way to UHD's radio block is the wrong one", "images", "(perhop0-radio -> radio0-radio)",
          CORES, 'link("perhop0.other", "radio0.radio")', 'link("perhop0.radio", "radio0.radio")'),
    Fault("packets come from an endpoint that there is not", "images", "(ep7-out0 -> perhop0-packets)",
          CORES, 'link("ep1.out0", "perhop0.packets")', 'link("ep7.out0", "perhop0.packets")'),
    Fault("the block description has lost the converter's clock", "images", "Unresolved clk domain",
          BLOCK_YAML, '  - name: radio\n    freq: "[]"\n', ""),
    Fault("the block has another port than its description", "images", "other_rx_stop",
          BLOCK, "    other_rx_running,\n", "    other_rx_stop,\n"),
]  # fmt: skip

ELABORATE = [
    Fault("the shell ties a port that radio_top has not", "elaborate", "m_done_ready",
          SHELL, ".m_done_tready(done_ready)", ".m_done_ready(done_ready)"),
    Fault("radio_top gives samples of another width", "elaborate", "'tx_i' expects 12 bits",
          RADIO_TOP, "output wire logic signed [11:0] tx_i,", "output wire logic signed [12:0] tx_i,"),
    Fault("an image has three samples a chip", "elaborate", "no pulse for this",
          CORES, '"44": {"SAMPLES_PER_CHIP": 4', '"44": {"SAMPLES_PER_CHIP": 3', "e320_perhop_44"),
    Fault("an image has a loop of more samples than can be counted", "elaborate", "LOOP_SAMPLES must be 4 to 31",
          CORES, '"SAMPLES_PER_CHIP": 2, "LOOP_SAMPLES": 16', '"SAMPLES_PER_CHIP": 2, "LOOP_SAMPLES": 48'),
    Fault("an image has a channel that its radio has not", "elaborate", "there is no such channel",
          CORES, '"CHANNEL": 0', '"CHANNEL": 2'),
    Fault("the resamplers, which few images have, are tied wrongly", "elaborate", "source_taken",
          PHY, ".clk, .rst, .source_take, .source_i", ".clk, .rst, .source_taken(source_take), .source_i",
          "n300_perhop_25"),
    Fault("an image's rates are further apart than its resampler goes", "elaborate", "within a factor of two",
          CORES, '"25": {"RATE_IN": 25, "RATE_22": 22', '"25": {"RATE_IN": 25, "RATE_22": 10', "n300_perhop_25"),
]  # fmt: skip

CHAINS = [
    Fault("the recorder's channel can receive and not send", "chains", "channel 1 of the radio has no in_1",
          CORES, OTHER, f'{OTHER} link("radio0.out_1", "ep9.in0"),'),
    Fault("perhop's channel cannot be switched on for sending", "chains", "channel 0 of the radio has no in_0",
          CORES, '        link("ep0.out0", "radio0.in_0"),\n', ""),
    Fault("an image of 44 million samples has streams of both channels", "chains", "two channels up to 30.72",
          CORES, OTHER, f'{OTHER} link("radio0.out_1", "ep9.in0"), link("ep9.out0", "radio0.in_1"),'),
]  # fmt: skip

RATES = [
    Fault("an image named 22 has four samples a chip", "rates", "the name says another rate",
          CORES, '"22": {"SAMPLES_PER_CHIP": 2', '"22": {"SAMPLES_PER_CHIP": 4'),
    Fault("the resampler's rates make another rate than 25", "rates", "the name says another rate",
          CORES, '"25": {"RATE_IN": 25, "RATE_22": 22', '"25": {"RATE_IN": 25, "RATE_22": 24'),
    Fault("mac_clk is too slow for 20.48 million samples", "rates", "more CLOCKS_PER_US",
          CORES, '"LOOP_SAMPLES": 24, "CLOCKS_PER_US": 64', '"LOOP_SAMPLES": 24, "CLOCKS_PER_US": 60'),
    Fault("the samples are decimated by half of what they must be", "rates", "no master clock rate of 100 MHz",
          CORES, '("x310", "25", 8)', '("x310", "25", 4)'),
    Fault("an image's remark says another master clock rate", "rates", "184.32e6, not 200e6",
          CORES, '("x310", "20p48", 9),  # 184.32e6', '("x310", "20p48", 9),  # 200e6'),
    Fault("the clock manager makes 54 MHz of it", "rates", "mac_clk is 54.00 MHz",
          CORES, '"10.0": (1, "9.0", "15.0")', '"10.0": (1, "8.1", "15.0")'),
    Fault("the clock manager runs below its range", "rates", "the clock manager cannot run at 300 MHz",
          CORES, '"5.0": (1, "4.5", "15.0")', '"5.0": (1, "1.5", "5.0")'),
    Fault("X310's clock has another period than its bus", "rates", "is not that of the device's 187.5 MHz",
          CORES, 'Device("X310_HG", "5.333"', 'Device("X310_HG", "5.0"'),
    Fault("an image has more channels than its radio", "rates", "the first radio has 1 ports",
          CORES, '"NUM_CHANNELS": device.radios[0]', '"NUM_CHANNELS": 2'),
    Fault("description and block differ in a default", "rates", "differ in LOOP_SAMPLES",
          BLOCK_YAML, "  LOOP_SAMPLES: 16\n", "  LOOP_SAMPLES: 12\n"),
    Fault("the block's default channel is another", "rates", "differ in CHANNEL",
          BLOCK, "parameter       CHANNEL          = 0", "parameter       CHANNEL          = 1"),
    Fault("the description has lost a parameter", "rates", "differ in SAMPLES_PER_PACKET",
          STREAM_YAML, "  SAMPLES_PER_PACKET: 64      # of what is sent\n", ""),
    Fault("the shell does not hear of its channel", "rates", "has CHANNEL = 0, and CHANNEL is 2",
          BLOCK, ".DECIMATION(DECIMATION), .CHANNEL(CHANNEL), .TIMED", ".DECIMATION(DECIMATION), .TIMED"),
    Fault("the tap takes the first channel, whatever the image says", "rates", "u_radio_tap (radio_tap) has CHANNEL",
          BLOCK, ".CHANNELS(NUM_CHANNELS), .CHANNEL(CHANNEL)", ".CHANNELS(NUM_CHANNELS), .CHANNEL(0)"),
    Fault("radio_top gets one rate twice", "rates", "RATE_22 is",
          SHELL, ".RATE_22(RATE_22), .QUEUES", ".RATE_22(RATE_IN), .QUEUES"),
    Fault("the host is told another loop than there is", "rates", "(shell_registers) has LOOP_SAMPLES",
          SHELL, ".LOOP_SAMPLES(LOOP_SAMPLES), .DECIMATION(DECIMATION), .CHANNEL(CHANNEL), .STREAMED",
          ".LOOP_SAMPLES(LOOP_SAMPLES + 1), .DECIMATION(DECIMATION), .CHANNEL(CHANNEL), .STREAMED"),
    Fault("a host is gone after a second of another clock", "rates", "(shell_registers) has CLOCKS_PER_US",
          SHELL, ".CLOCKS_PER_US(CLOCKS_PER_US), .LOOP_SAMPLES(", ".LOOP_SAMPLES("),
    Fault("the loop of samples is not the image's", "rates", "(sample_port) has LOOP_SAMPLES",
          SHELL, "sample_port #(.LOOP_SAMPLES(LOOP_SAMPLES)", "sample_port #(.LOOP_SAMPLES(16)"),
    Fault("samples go to the modem slower than they come", "rates", "the modem takes a sample each 3 clocks",
          SHELL, "(RATE_IN < RATE_22 ? 3 : 2)", "(RATE_IN < RATE_22 ? 2 : 3)"),
    Fault("the modem has two samples a chip, whatever the image says", "rates", "(dsss_phy) has SAMPLES_PER_CHIP",
          RADIO_TOP, "dsss_phy #(.SAMPLES_PER_CHIP(SAMPLES_PER_CHIP)", "dsss_phy #(.SAMPLES_PER_CHIP(2)"),
    Fault("the host is told other samples a chip than there are", "rates", "(radio_registers) has SAMPLES_PER_CHIP",
          RADIO_TOP, "radio_registers #(\n    .SAMPLES_PER_CHIP(SAMPLES_PER_CHIP)",
          "radio_registers #(\n    .SAMPLES_PER_CHIP(4)"),
    Fault("the MAC counts 60 clocks, whatever the image says", "rates", "(mac_top) has CLOCKS_PER_US",
          RADIO_TOP, ".CLOCKS_PER_US(CLOCKS_PER_US), .SETTLE_CLOCKS", ".CLOCKS_PER_US(60), .SETTLE_CLOCKS"),
    Fault("the receiver's resampler has its rates exchanged", "rates", "(rx_resampler) has IN_RATE",
          PHY, ".IN_RATE(RATE_IN), .OUT_RATE(RATE_22)", ".IN_RATE(RATE_22), .OUT_RATE(RATE_IN)"),
    Fault("the clock manager does not divide", "rates", "has DIVCLK_DIVIDE = 1",
          "hw/rfnoc/fpga/mac_clock.v", ".DIVCLK_DIVIDE(DIVIDE)", ".DIVCLK_DIVIDE(1)"),
    Fault("the decimator has a factor of its own", "rates", "(sample_decimator) has FACTOR = 8",
          "hw/fpga/radio_tap.sv", "sample_decimator #(.FACTOR(DECIMATION))", "sample_decimator #(.FACTOR(8))"),
    Fault("the image over streams says that SIFS holds", "rates", "tells the host that samples come over streams",
          STREAM, ".STREAMED(1'b1)", ".STREAMED(1'b0)"),
    Fault("the host is told that frames have no time", "rates", "tells the host of another time",
          SHELL, ".TIMED(TIMED)", ".TIMED(1'b0)"),
    Fault("the block leaves out the time that the image gives it", "rates", "and the image core says the other",
          BLOCK, ".TIMED(1'b1)", ".TIMED(1'b0)"),
    Fault("an image does not connect the device's time", "rates", "and the image core says the other",
          CORES, '        link("_device_.time", "perhop0.time"),\n', ""),
    Fault("the stream is slower than the samples that come", "rates", "the stream gives 23.44 million",
          STREAM, ".SPACING_CLOCKS(7)", ".SPACING_CLOCKS(8)"),
    Fault("the image over streams counts 64 clocks of its 60 MHz", "rates", "has CLOCKS_PER_US = 64",
          STREAM, ".CLOCKS_PER_US(60), .SAMPLES_PER_CHIP", ".CLOCKS_PER_US(64), .SAMPLES_PER_CHIP"),
]  # fmt: skip

HOST = [
    Fault("the controller registers for another NoC id", "host", "NoC id of perhop says 0x88B50003",
          "host/drivers/uhd/perhop_block_control.hpp", "perhop_noc_id = 0x88B50001", "perhop_noc_id = 0x88B50003"),
    Fault("both blocks have one NoC id", "host", "different NoC ids",
          STREAM_YAML, "noc_id: 0x88B50002", "noc_id: 0x88B50001"),
    Fault("Python looks for the shell's registers elsewhere", "host", "SHELL_REGISTERS_BASE says 3072",
          SPEC, "SHELL_REGISTERS_BASE = 2048", "SHELL_REGISTERS_BASE = 3072"),
    Fault("the daemon looks for the shell's registers elsewhere", "host", "SHELL_REGISTERS_BASE says 1024",
          "host/core/wire/generated/protocol.hpp", "shell_registers_base = 2048", "shell_registers_base = 1024"),
    Fault("the FPGA expects a shorter head of a packet", "host", "bytes of HostSend says 40",
          "hw/fpga/packet_input.sv", "HEAD_WORDS = 10;", "HEAD_WORDS = 8;"),
    Fault("UHD counts the frames' time in ticks of the graph", "host", "clock of perhop's time says ::uhd::rfnoc",
          "host/drivers/uhd/perhop_block_control.cpp", '"perhop", "radio_clk")',
          '"perhop", ::uhd::rfnoc::CLOCK_KEY_GRAPH)'),
    Fault("packets for the host end no burst", "host", "end of a burst of frames says 1'b0",
          BLOCK, ".s_frames_axis_teob(frames_teob)", ".s_frames_axis_teob(1'b0)"),
    Fault("a burst of the host is taken for a packet each", "host", "end of a burst of packets says",
          BLOCK, ".m_packets_axis_teob(packets_teob)", ".m_packets_axis_teob()"),
    Fault("packets for the host are longer than Ethernet carries them", "host", "whole packet of the stream says 2092",
          "hw/fpga/shell_top.sv", "PACKET_WORDS     = 364", "PACKET_WORDS     = 512"),
    Fault("the longest packet does not fit into the daemon's buffer", "host", "hold the longest packet says False",
          "host/drivers/uhd/uhd_link.cpp", "most_words = 2048", "most_words = 512"),
    Fault("UHD turns the halves of words round", "host", "format of packets says sc16",
          "host/drivers/uhd/uhd_link.cpp", 'words_format = "f32"', 'words_format = "sc16"'),
    Fault("the host has not measured an image's modem", "host", "knows no delays of its modem",
          DELAYS, "(256, 275): ", "(256, 274): "),
    Fault("the modem's delays leave no room in SIFS", "host", "SIFS has room for",
          DELAYS, "DELAYS = {2: ((8.0, 1.5)", "DELAYS = {2: ((180.0, 1.5)"),
    Fault("the self-test writes to another register than it means", "host", "address of radio.tx_gain says 0x424",
          "hw/bringup/steps.py", "write32(0x420, 257)", "write32(0x424, 257)"),
    Fault("the bring-up expects another rate of samples", "host", "--msps says 20",
          "hw/bringup/bringup.py", '"--msps", type=float, default=22.0', '"--msps", type=float, default=20.0'),
    Fault("recordings are read at another rate", "host", "SAMPLES_PER_US says 20",
          "hw/bringup/recording.py", "SAMPLES_PER_US = 22\n", "SAMPLES_PER_US = 20\n"),
    Fault("the recorder counts samples of another rate", "host", "SAMPLE_RATE_HZ says 20000000",
          "hw/bringup/uhd_radio.py", "SAMPLE_RATE_HZ = 22e6", "SAMPLE_RATE_HZ = 20e6"),
    Fault("the bring-up looks for a block of another name", "host", "--block says 0/Perhop#0",
          "hw/bringup/bringup.py", '"--block", default="0/perhop#0"', '"--block", default="0/Perhop#0"'),
    Fault("the daemon sets gain and frequency of another channel", "host", "rfnoc_driver.cpp: channel says {1}",
          "host/drivers/rfnoc_driver.cpp", 'count_field("channel", 0, 0, 7', 'count_field("channel", 1, 0, 7'),
    Fault("images give perhop the recorder's channel", "host", "is not perhop's says False",
          CORES, '"CHANNEL": 0', '"CHANNEL": 1'),
    Fault("the model resamples by other rates than the images", "host", "converter_rates.py: rates says",
          "host/python/perhop/phy/converter_rates.py", '"20.48": (256, 275)', '"20.48": (256, 276)'),
]  # fmt: skip

DOCUMENTS = [
    Fault("the guide has other samples a chip", "documents", "e310_perhop_44 has 4 samples a chip",
          GUIDE, "44 million a second, 4 a chip", "44 million a second, 2 a chip"),
    Fault("the guide has another rate of an image", "documents", "x310_perhop_25 has 25 million samples a second",
          GUIDE, "| 25 million a second | 802.11 DSSS", "| 20 million a second | 802.11 DSSS"),
    Fault("the guide does not name an image", "documents", "names no image n300_perhop_25",
          GUIDE, "`x310_perhop_25`, `n300_...`, ", "`x310_perhop_25`, "),
    Fault("the guide says another clock of an image's MAC", "documents", "mac_clk of n310_perhop_20p48 has 64 MHz",
          GUIDE, "the same; MAC and modem at 64 MHz", "the same; MAC and modem at 60 MHz"),
    Fault("the guide's self-test expects another clock", "documents", "has 60 clocks a microsecond, not 64",
          GUIDE, "| clocks a microsecond | 60;", "| clocks a microsecond | 64;"),
    Fault("the guide's first delays are old", "documents", "the first delays of e320_perhop_22 are (67, 30)",
          GUIDE, "# tx 67, rx 30 clocks", "# tx 66, rx 30 clocks"),
    Fault("an inventory sets a master clock rate of no image", "documents", "master_clock_rate=20e6 is of no image",
          "hw/inventory/hosts.yml", 'master_clock_rate=22e6", mac: "02:00:00:00:00:01"',
          'master_clock_rate=20e6", mac: "02:00:00:00:00:01"'),
    Fault("the driver's header names a master clock rate of no image", "documents", "master_clock_rate=30e6",
          "host/drivers/make_uhd_link.hpp", "master_clock_rate=22e6", "master_clock_rate=30e6"),
    Fault("the shell's page has its registers elsewhere", "documents", "does not say that registers are at 0x800",
          "docs/hw/README.md", "0x800 to 0xBFF", "0xC00 to 0xFFF"),
]  # fmt: skip

CONSTRAINTS = [
    Fault("the way back of the Gray count has no constraint", "constraints", "no constraint is of the crossing",
          XDC, """set_max_delay -datapath_only 4.0 \\
  -from [get_cells -hierarchical -filter {NAME =~ *cdc_read_gray_q_reg*}] \\
  -to   [get_cells -hierarchical -filter {NAME =~ *cdc_first_q_reg*}]
""", ""),
    Fault("a Gray count may take longer than a period", "constraints", "is more than a period",
          XDC, f"4.0 {WRITTEN}", f"4.5 {WRITTEN}"),
    Fault("a Gray count is timed from clock to clock", "constraints", "-datapath_only is missing",
          XDC, f"-datapath_only 4.0 {WRITTEN}", f"4.0 {WRITTEN}"),
    Fault("a constraint names cells that are none", "constraints", "-from finds no cells",
          XDC, "*cdc_read_gray_q_reg*", "*cdc_read_grey_q_reg*"),
    Fault("a false path undoes the Gray counts' delays", "constraints", "a false path over bits that belong together",
          XDC, "*u_own/cdc_first_q_reg*/D", "*cdc_first_q_reg*/D"),
    Fault("a false path frees registers of one clock", "constraints", "pins of no crossing",
          XDC, "*u_own/cdc_first_q_reg*/D", "*_q_reg*/D"),
    Fault("resets are let go at a pin that they have not", "constraints", "-to finds no pins",
          XDC, "*cdc_reset_q_reg*/PRE", "*cdc_reset_q_reg*/CE"),
    Fault("words of FIFOs are timed", "constraints", "crossing from u_shell.u_frames.cdc_memory",
          XDC, f"set_false_path -through {WORDS} \\\n  -from {MEMORIES}\n", ""),
    Fault("second registers of synchronisers are like any other", "constraints", "have no ASYNC_REG",
          XDC, " || NAME =~ *cdc_second_q_reg*", ""),
    Fault("every register is taken for a synchroniser", "constraints", "ASYNC_REG is for the registers of",
          XDC, "*cdc_second_q_reg*", "*_q_reg*"),
    Fault("a command stands there that nobody has checked", "constraints", "set_clock_groups is not known here",
          XDC, "# Single bits and resets may come at any time.\n", "set_clock_groups -asynchronous -group mac_clk\n"),
    Fault("Vivado never reads the constraints", "constraints", "does not name perhop.xdc",
          "hw/rfnoc/fpga/Makefile.srcs", "  $(PERHOP_FPGA_DIR)perhop.xdc\n", "\n"),
    Fault("the bit's synchroniser has a new name", "constraints", "-to finds no pins",
          SHELL, "cdc_bit u_own (", "cdc_bit u_owner ("),
    Fault("a count crosses that is not Gray", "constraints", "no constraint is of the crossing",
          FIFO, ".foreign(cdc_read_gray_q)", ".foreign(read_q)"),
    Fault("a synchroniser has one register", "constraints", "have no ASYNC_REG",
          BIT, "assign settled = cdc_second_q;", "assign settled = cdc_first_q;"),
]  # fmt: skip

CROSSINGS = [
    Fault("a setting goes straight to the converter's clock", "crossings", "is of radio_clk and hears",
          SHELL, ".own(owned)", ".own(cfg_own_converter)"),
    Fault("there is logic before a synchroniser", "crossings", "through logic",
          FIFO, ".foreign(cdc_read_gray_q)", ".foreign(cdc_read_gray_q ^ (cdc_read_gray_q >> 1))"),
    Fault("a FIFO is read at its writer's clock", "crossings", "hears u_shell.u_heard",
          SHELL, ".m_clk(mac_clk), .m_rst(mac_rst), .m_valid(heard_mac_valid)",
          ".m_clk(radio_clk), .m_rst(radio_rst), .m_valid(heard_mac_valid)"),
    Fault("the device's time goes round the FIFO", "crossings", "is of mac_clk and hears radio_time",
          SHELL, ".sample_ticks(64'(heard_time))", ".sample_ticks(radio_time)"),
    Fault("the converter's side is reset by the MAC's reset", "crossings", "hears u_shell.u_mac_reset.cdc_reset_q",
          SHELL, ".rst(radio_rst), .own(owned)", ".rst(mac_rst), .own(owned)"),
    Fault("the tap of a decimating image is reset by the host's reset", "crossings", "hears u_noc_shell.ctrlport_rst",
          BLOCK, ".clk(radio_clk), .rst(tap_rst),", ".clk(radio_clk), .rst(ctrlport_rst),", "perhop_decimating"),
    Fault("a FIFO's memory is written at its reader's clock", "crossings", "cdc_memory",
          FIFO, f"always_ff @(posedge s_clk) begin\n    {WRITE}",
          f"always_ff @(posedge m_clk) {WRITE}\n  always_ff @(posedge s_clk) begin"),
    Fault("the port's converter is reset by the host's reset", "crossings", "hears host_rst",
          "hw/ports/ad936x/ad936x_top.sv", ".rst(data_rst), .rx_frame", ".rst(host_rst), .rx_frame"),
]  # fmt: skip

AREA = [
    Fault("the page has an old count", "area", "run hw/reports/area.py",
          AREA_PAGE, "`e310_perhop_44` | XC7Z020-1 (SG1) | ", "`e310_perhop_44` | XC7Z020-1 (SG1) | 1"),
    Fault("the page has another image", "area", "an image is missing, or is none: n300_perhop_22",
          AREA_PAGE, "`n300_perhop_25`", "`n300_perhop_22`"),
    Fault("the page hides its assumption", "area", "does not say: **How much UHD takes is an assumption",
          AREA_PAGE, "**How much UHD takes is an assumption, not a measurement**", "UHD takes 60 %"),
    Fault("UHD leaves less than the block takes", "area", "LUT, and UHD, as assumed, leaves",
          AREA_REPORT, "53_200, 106_400, 140, 220, 0.60", "53_200, 106_400, 140, 220, 0.90"),
    Fault("a share of UHD passes for a measurement", "area", "without saying that it is an assumption",
          AREA_REPORT, 'GUESS = "an assumption, for want of a report: replace it by yours"', 'GUESS = "measured"'),
    Fault("the guide repeats another count", "area", "the line `area` does not say: ",
          GUIDE, "the block of `e310_perhop_44` takes ", "the block of `e310_perhop_44` takes 1"),
    Fault("the guide says another assumption than the report", "area", "does not say: The check asks for 60 %",
          GUIDE, "The check asks for 60 %", "The check asks for 50 %"),
]  # fmt: skip

FAULTS = [*IMAGES, *ELABORATE, *CHAINS, *RATES, *HOST, *DOCUMENTS, *CONSTRAINTS, *CROSSINGS, *AREA]
