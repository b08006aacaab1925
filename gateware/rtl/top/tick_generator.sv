// SPDX-License-Identifier: GPL-2.0-or-later
// Makes the MAC's microseconds out of clocks, in step with the medium: after each edge of the medium the ticks fall
// where the next transmission must start, so that a response leaves SIFS after the frame, and a back-off ends on a
// slot boundary, to the clock (IEEE 802.11-2012, 9.3.7).
//
//   on the air   ....frame|<------------------ SIFS ------------------>|response
//   PHY                   |<-rx delay->|phy_rx_end        phy_tx_start|<-tx delay->|
//   ticks        .    .      .         |   1    2    3  ...  SIFS|        (1 us apart, the last 2 clocks before the start)
//
// Edges are the end of a received frame, the carrier's fall, and the start of an own frame; the end of an own frame
// needs none, for the ticks that count it begin with it.
//
// While the carrier is there, time runs as it is heard; with the edge it is put forward by what both directions of the
// PHY delay, and with the next carrier back. Ticks that have become due in the past come SETTLE_CLOCKS apart. An edge
// also moves the clock by up to half a microsecond, to the nearest tick; what has been lost or gained so is kept in
// `error_q`, and a microsecond is paid as soon as one is full, while a carrier is there (and no NAV that would last
// longer for it). An edge that would take the error past LIMIT_CLOCKS, which no PHY causes that raises its carrier for
// a microsecond before each frame's end, does not move the clock; so the TSF keeps within LIMIT_CLOCKS of the clock.
//
// Behind a frame's end the carrier may stay, for somebody else is heard. Whether the frame is answered, SIFS after its
// end, is known with the next tick only. Should the carrier fall before, that was the edge to count from if there is no
// response: the ticks are put off by the time that it stayed (`lag_q`), as soon as that is known.
//
// Where a MAC with several queues takes a clock more to start after contention than to respond, the ticks come so much
// earlier, but for those of SIFS.
//
// A tick waits until the MAC is quiescent. That it need not wait, everything that could disturb a MAC shortly before a
// tick is asked to wait for it: packets (`desc_window`), indications of the PHY (phy_inputs).
//
// Timing: the PHY delays together are at most SIFS * (CLOCKS_PER_US - SETTLE_CLOCKS) clocks less four.

`default_nettype none

module tick_generator #(
  parameter int unsigned CLOCKS_PER_US = 64,
  parameter int unsigned SETTLE_CLOCKS = 16,   // ticks are at least so far apart; the MAC is quiescent sooner
  parameter int unsigned DELAY_W       = 16,   // bits of each delay that count
  parameter int unsigned CONTENTION_CLOCKS = 0 // by which a start after contention takes longer than a response
) (
  input  wire logic        clk,
  input  wire logic        rst,

  // Settings; they change only under reset, three clocks before its end.
  input  wire logic [15:0] cfg_phy_tx_delay_clocks,   // from phy_tx_start to the first bit on the air
  input  wire logic [15:0] cfg_phy_rx_delay_clocks,   // from the last bit on the air to phy_rx_end and the carrier's fall

  // From the PHY, and from phy_inputs what the MAC sees of it.
  input  wire logic        phy_cca_busy,
  input  wire logic        phy_rx_end,
  input  wire logic        cca_busy,
  input  wire logic        news,             // an indication reaches the MAC with this clock
  output wire logic        hold_strobe,      // let a strobe wait, for three clocks at most
  output wire logic        hold_carrier,     // let the carrier stay as it is

  // The MAC.
  output wire logic        tick,             // one clock: a microsecond has passed
  output wire logic        desc_window,      // one clock: it may be told of a packet
  input  wire logic        quiescent,
  input  wire logic        sending,          // an own frame is on the air, or SIFS before it runs
  input  wire logic        tx_start,
  input  wire logic [15:0] nav_left_us
);

  localparam int unsigned WIDTH = (DELAY_W > 10 ? DELAY_W : 10) + 4;   // both delays and some microseconds, either way
  typedef logic signed [WIDTH-1:0] clocks_t;

  localparam clocks_t MICROSECOND     = clocks_t'(CLOCKS_PER_US);
  // Four microseconds, and twice what one carrier that stays can put ticks off.
  localparam int unsigned LAG_W       = CLOCKS_PER_US > 64 ? $clog2(CLOCKS_PER_US) : 6;
  localparam int unsigned LIMIT       = CLOCKS_PER_US >= 2 ** (LAG_W - 1) ? 4 * CLOCKS_PER_US : 2 ** (LAG_W + 1);
  localparam clocks_t LIMIT_CLOCKS    = clocks_t'(LIMIT);
  localparam clocks_t MORE            = clocks_t'(CONTENTION_CLOCKS);
  localparam clocks_t START_CLOCKS    = clocks_t'(3) + MORE;   // from a tick's decision to the tx_start that it causes
  localparam int unsigned SETTLE_W    = $clog2(SETTLE_CLOCKS);
  localparam int unsigned SMALL_W     = $clog2(CLOCKS_PER_US + 1);
  localparam int unsigned ERROR_W     = $clog2(LIMIT + 1) + 1;

  if (DELAY_W < 1 || DELAY_W > 16) begin : g_bad_width
    $fatal(1, "%m: DELAY_W must be 1 to 16");
  end
  if (SETTLE_CLOCKS < 4 || CLOCKS_PER_US < SETTLE_CLOCKS + 4 || CLOCKS_PER_US > 1024) begin : g_bad_clocks
    $fatal(1, "%m: CLOCKS_PER_US must be at least SETTLE_CLOCKS + 4 and at most 1024, SETTLE_CLOCKS at least 4");
  end

  // Clocks until the next tick is due; negative: overdue. Once as time is heard, once put forward; always a delay apart, so
  // that an edge chooses and need not add.
  clocks_t                   heard_q, ahead_q;
  logic                      forward_q;       // time is put forward by the delay
  logic                      fresh_q;         // no tick since a frame's end: whether it is answered is not known yet
  logic signed [ERROR_W-1:0] error_q;         // clocks by which the MAC's time is ahead
  logic [SETTLE_W-1:0]       settle_q;
  logic                      tick_q, ticked_q, was_sending_q;
  logic                      quiescent_q;     // a clock ago, and nothing came or is on its way; so it is now
  logic [LAG_W-1:0]          since_end_q;     // clocks since a frame's end; 0: too many
  logic                      stayed_q;        // behind a fresh frame's end the carrier stayed,
  logic signed [LAG_W:0]     lag_q;           // for one clock more than this; with lagging_q, what the ticks are put off
  logic                      cca_was_busy_q, lagging_q;

  clocks_t                   phy_q;           // both directions of the PHY; with START_CLOCKS, the delay
  clocks_t                   later_q, sooner_q;   // a microsecond and phy_q; a microsecond less the delay

  wire clocks_t left = forward_q ? ahead_q : heard_q;

  // Ticks.
  wire logic    may_tick = settle_q == '0 && quiescent_q && !news;
  wire logic    due      = left[WIDTH-1] || left[WIDTH-2:1] == '0;   // 1 or less

  // Edges. The end of a frame that meets SIFS or an own frame is none: what is being sent goes on.
  wire logic    carrier_fell = !forward_q && !phy_cca_busy;
  wire logic    medium_edge  = !sending && !tx_start && (phy_rx_end || carrier_fell);
  wire logic    early        = heard_q[WIDTH-1] || (heard_q[WIDTH-2:SMALL_W] == '0 && heard_q[SMALL_W-1:0] <= SMALL_W'(CLOCKS_PER_US / 2));
  wire logic    round_up     = medium_edge && early && may_tick;
  // The clocks by which an edge moves time: as heard, for an edge of the medium; as put forward, for an own start. Of
  // them those that have passed by rights are taken off.
  wire clocks_t by_rights    = tx_start ? MICROSECOND - START_CLOCKS + clocks_t'(1) : MICROSECOND + clocks_t'(1);
  wire logic    upwards      = !tx_start && round_up;   // known late: chosen by it, and not computed from it
  wire clocks_t error        = clocks_t'(error_q) + (tx_start ? ahead_q : heard_q);
  wire logic    in_bounds    = upwards ? is_bounded(error, clocks_t'(1)) : is_bounded(error, by_rights);
  wire logic    moved        = (medium_edge || tx_start) && in_bounds;

  // Few bits of it are compared.
  localparam int unsigned NEAR_W = ERROR_W + 1;
  typedef logic signed [NEAR_W-1:0] near_t;
  function automatic logic is_bounded(clocks_t clocks, clocks_t taken_off);
    logic is_near = clocks[WIDTH-1:NEAR_W-1] == '0 || clocks[WIDTH-1:NEAR_W-1] == '1;
    return is_near && near_t'(clocks) <= near_t'(LIMIT_CLOCKS + taken_off) && near_t'(clocks) >= near_t'(taken_off - LIMIT_CLOCKS);
  endfunction

  wire logic    tick_due     = due && may_tick;
  wire logic    tick_now     = moved ? round_up : tick_due;

  // SIFS begins.
  wire logic    respond      = CONTENTION_CLOCKS != 0 && sending && !was_sending_q && !tx_start &&
                               clocks_t'(error_q) > -LIMIT_CLOCKS;

  // The carrier has come.
  wire logic    put_back     = forward_q && !sending && !fresh_q && cca_busy && phy_cca_busy;

  // The carrier had stayed behind a frame's end that is not answered, and has fallen. The tick that told so counts as its
  // first microsecond if the MAC saw it fall before. The MAC's time must not leave its bounds for it.
  wire logic    has_room     = cca_was_busy_q ? clocks_t'(error_q) <= LIMIT_CLOCKS - MICROSECOND
                                              : clocks_t'(error_q) >= clocks_t'(2 ** LAG_W) - LIMIT_CLOCKS;
  wire logic    lags         = !fresh_q && stayed_q && !phy_cca_busy && !sending && has_room;

  // A microsecond too many or too few is paid.
  wire logic    carrier      = !forward_q && !sending && !medium_edge && !tx_start;
  wire logic    pay_back     = carrier && tick_due && clocks_t'(error_q) >= MICROSECOND &&
                               (nav_left_us == '0 || clocks_t'(error_q) >= clocks_t'(2) * MICROSECOND);
  wire logic    make_up      = carrier && tick_due && clocks_t'(error_q) <= -MICROSECOND && !left[WIDTH-1];

  // Where no edge moves the clock.
  clocks_t      step;
  always_comb begin
    step = tick_due && !make_up ? MICROSECOND - clocks_t'(1) : -clocks_t'(1);
    if (lagging_q) step = clocks_t'(lag_q);   // the second clock behind a tick: none can be due
    if (pay_back) step = clocks_t'(2) * MICROSECOND - clocks_t'(1);
    if (respond)  step = tick_due ? MICROSECOND - clocks_t'(1) + MORE : MORE - clocks_t'(1);
  end

  // What is taken off the error with this clock.
  logic signed [ERROR_W-1:0] settled;
  always_comb begin
    if (moved)         settled = upwards ? ERROR_W'(1) : ERROR_W'(by_rights);
    else if (respond)  settled = ERROR_W'(CONTENTION_CLOCKS);
    else if (pay_back) settled = ERROR_W'(CLOCKS_PER_US);
    else if (make_up)  settled = -ERROR_W'(CLOCKS_PER_US);
    else if (lagging_q) settled = ERROR_W'(lag_q) + ERROR_W'(1);
    else               settled = '0;
  end

  always_ff @(posedge clk) begin
    phy_q    <= clocks_t'({1'b0, cfg_phy_tx_delay_clocks[DELAY_W-1:0]}) + clocks_t'({1'b0, cfg_phy_rx_delay_clocks[DELAY_W-1:0]});
    later_q  <= MICROSECOND + phy_q;
    sooner_q <= MICROSECOND - START_CLOCKS - phy_q;
    if (rst) begin
      heard_q   <= later_q;
      ahead_q   <= MICROSECOND - START_CLOCKS;   // as if an own frame began
      forward_q <= 1'b1;
      fresh_q   <= 1'b0;
      error_q   <= ERROR_W'(START_CLOCKS);
      settle_q  <= '0;
      tick_q    <= 1'b0;
      ticked_q  <= 1'b0;
      was_sending_q <= 1'b0;
      quiescent_q   <= 1'b0;
      since_end_q    <= '0;
      stayed_q       <= 1'b0;
      lag_q          <= '0;
      cca_was_busy_q <= 1'b0;
      lagging_q      <= 1'b0;
    end else begin
      was_sending_q <= sending;
      quiescent_q   <= quiescent && !news && !medium_edge;
      heard_q  <= !moved ? heard_q + step : tx_start ? later_q : MICROSECOND;
      ahead_q  <= !moved ? ahead_q + step : tx_start ? MICROSECOND - START_CLOCKS : sooner_q;
      tick_q   <= tick_now;
      ticked_q <= tick_q;

      if (tick_now)            settle_q <= SETTLE_W'(SETTLE_CLOCKS - 1);
      else if (settle_q != '0) settle_q <= settle_q - 1'b1;

      if (medium_edge || tx_start) forward_q <= 1'b1;
      else if (put_back)           forward_q <= 1'b0;

      if (medium_edge && phy_rx_end) fresh_q <= 1'b1;
      else if (tick_now)             fresh_q <= 1'b0;

      cca_was_busy_q <= cca_busy;
      lagging_q      <= lags && !medium_edge && !tx_start;
      if (medium_edge && phy_rx_end) begin
        since_end_q <= LAG_W'(moved);
        stayed_q    <= moved && phy_cca_busy;
        lag_q       <= '0;
      end else begin
        if (sending || tx_start)    since_end_q <= '0;
        else if (since_end_q != '0) since_end_q <= since_end_q + 1'b1;
        if (sending || tx_start || !fresh_q) stayed_q <= 1'b0;
        else if (phy_cca_busy)               stayed_q <= since_end_q != '0;
        if (fresh_q && phy_cca_busy)         lag_q <= (LAG_W+1)'(since_end_q);
        else if (!fresh_q && cca_was_busy_q) lag_q <= lag_q - (LAG_W+1)'(CLOCKS_PER_US);
      end

      error_q  <= (moved ? ERROR_W'(error) : error_q) - settled;
    end
  end

  if (DELAY_W < 16) begin : g_short_delays
    wire logic unused = &{1'b0, cfg_phy_tx_delay_clocks[15:DELAY_W], cfg_phy_rx_delay_clocks[15:DELAY_W]};
  end

  assign tick         = tick_q;
  assign desc_window  = ticked_q;
  assign hold_strobe  = left == clocks_t'(2) || left == clocks_t'(3) || left == clocks_t'(4);
  assign hold_carrier = left[WIDTH-1:SMALL_W] == '0 && left[SMALL_W-1:1] != '0 && left[SMALL_W-1:0] <= SMALL_W'(SETTLE_CLOCKS);

endmodule

`default_nettype wire
