# SPDX-License-Identifier: GPL-2.0-or-later
# Peer of peers_mobile.py and peers_routing.py: TCP flows between nodes that move in ns-2.35.
# usage: ns ns2_mobile.tcl NODES WIDTH_M HEIGHT_M SECONDS SEED QUEUE MOTION FLOWS [DSR|AODV] [Reno|Newreno]
# MOTION: a file in setdest's format. FLOWS: a Tcl file with lines `flow SRC DST START_S WINDOW SEGMENT_BYTES MIN_RTO_S MAX_RTO_S`
# and, behind them, `limit AT_S FLOW WINDOW`.
# Prints: {"delivered_packets": N}, of all flows.
source [file join [file dirname [info script]] ns2_network.tcl]
lassign $argv nodes width_m height_m seconds seed queue motion flows routing variant
if {$routing eq ""} {set routing DSR}
if {$variant eq ""} {set variant Reno}
ns-random $seed
make_network $nodes $width_m $height_m $routing OFF [open /dev/null w] $queue
source $motion
set tcps {}
proc flow {src dst start_s window segment_bytes min_rto_s max_rto_s} {
  global ns_ node_ tcps variant
  set tcp [new Agent/TCP/$variant]
  $tcp set packetSize_ $segment_bytes
  $tcp set window_ $window
  # It would keep 20, of the default window.
  $tcp set ssthresh_ $window
  $tcp set minrto_ $min_rto_s
  $tcp set maxrto_ $max_rto_s
  set sink [new Agent/TCPSink]
  $ns_ attach-agent $node_($src) $tcp
  $ns_ attach-agent $node_($dst) $sink
  $ns_ connect $tcp $sink
  set ftp [new Application/FTP]
  $ftp attach-agent $tcp
  $ns_ at $start_s "$ftp start"
  lappend tcps $tcp
}
proc limit {at_s flow window} {
  global ns_ tcps
  $ns_ at $at_s "[lindex $tcps $flow] set window_ $window"
}
source $flows
$ns_ at $seconds "finish"
proc finish {} {
  global tcps
  set delivered 0
  foreach tcp $tcps {
    set ack [$tcp set ack_]
    if {$ack > 0} {incr delivered $ack}
  }
  puts "{\"delivered_packets\": $delivered}"
  exit 0
}
$ns_ run
