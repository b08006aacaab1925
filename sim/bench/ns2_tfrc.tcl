# SPDX-License-Identifier: GPL-2.0-or-later
# Peer of sim/experiments/tfrc_chain and tfrc_mobile: their flows in ns-2.35.
# usage: ns ns2_tfrc.tcl HOPS CBR_BPS SECONDS SEED [SPACING_M] [DSR|AODV] [TCP_FLOWS] [TFRC_FLOWS]         over a chain, one CBR flow along it
#        ns ns2_tfrc.tcl NODES CBR_BPS SECONDS SEED WIDTHxHEIGHT:MOTION.tcl [DSR|AODV] [TCP_FLOWS] [TFRC_FLOWS]   from the first to the last of
#          nodes that move by a file in setdest's format, ten CBR flows between other pairs
# Prints, for both kinds of flows, packets that arrived and what share of those that left did not:
# {"tcp_packets": N, "tfrc_packets": N, "tfrc_over_tcp": X, "tcp_loss": X, "tfrc_loss": X, "tcp_changes_more": X}
# tcp_changes_more: of the steps between bins of 10 s, from 10 s on, the share in which TCP's packets change by more than TFRC's.
source [file join [file dirname [info script]] ns2_network.tcl]
lassign $argv hops cbr_bps seconds seed spacing routing tcp_flows tfrc_flows
set moves [regexp {^(\d+)x(\d+):(.+)$} $spacing -> width height motion]
set last [expr {$moves ? $hops - 1 : $hops}]
if {$spacing eq ""} {set spacing 250}
if {$routing eq ""} {set routing DSR}
if {$tcp_flows eq ""} {set tcp_flows 10}
if {$tfrc_flows eq ""} {set tfrc_flows 10}
ns-random $seed
# What agents send and get, counted by awk as it comes.
set count {$4 == "AGT" && (($1 == "s" && $3 == "_0_") || ($1 == "r" && $3 == last)) {n[$1 $7]++; b[$1 $7, int($2 / 10)]++} \
  function lost(kind) {return n["s" kind] ? 1 - n["r" kind] / n["s" kind] : 0} \
  function change(kind, bin) {d = b[kind, bin] - b[kind, bin - 1]; return d < 0 ? -d : d} \
  END {tcp = n["rtcp"]; tfrc = n["rtcpFriend"]; \
    for (bin = 2; (bin + 1) * 10 <= seconds; bin++) {steps++; more += change("rtcp", bin) > change("rtcpFriend", bin)} \
    printf "{\"tcp_packets\": %d, \"tfrc_packets\": %d, \"tfrc_over_tcp\": %.3f, \"tcp_loss\": %.4f, \"tfrc_loss\": %.4f, ", \
      tcp, tfrc, tcp ? tfrc / tcp : 0, lost("tcp"), lost("tcpFriend"); \
    printf "\"tcp_changes_more\": %.3f}\n", steps ? more / steps : 0}}
set tf [open [list | awk -v last=_${last}_ -v seconds=$seconds $count >@stdout] w]
if {$moves} {make_moving $hops $width $height $motion $routing ON $tf} else {make_chain $hops $spacing $routing ON $tf}
Agent/TCP set packetSize_ 1000
Agent/TFRC set packetSize_ 1000
for {set i 0} {$i < $tcp_flows} {incr i} {
  set tcp [new Agent/TCP/Sack1]
  connect $tcp [new Agent/TCPSink/Sack1]
  set ftp [new Application/FTP]
  $ftp attach-agent $tcp
  $ns_ at [expr {0.1 + 0.2 * $i}] "$ftp start"
}
for {set i 0} {$i < $tfrc_flows} {incr i} {
  set tfrc [new Agent/TFRC]
  connect $tfrc [new Agent/TFRCSink]
  $ns_ at [expr {0.2 + 0.2 * $i}] "$tfrc start"
}
for {set i 0} {$i < ($moves ? 10 : 1)} {incr i} {
  set udp [new Agent/UDP]
  $udp set packetSize_ 1000
  if {$moves} {connect $udp [new Agent/Null] [expr {2 * $i + 1}] [expr {2 * $i + 2}]} else {connect $udp [new Agent/Null]}
  set cbr [new Application/Traffic/CBR]
  $cbr set packetSize_ 1000
  $cbr set rate_ $cbr_bps
  $cbr attach-agent $udp
  $ns_ at [expr {5 + 0.1 * $i}] "$cbr start"
}
$ns_ at $seconds "finish"
proc finish {} {
  global ns_ tf
  $ns_ flush-trace
  close $tf
  exit 0
}
$ns_ run
