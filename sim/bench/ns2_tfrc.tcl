# SPDX-License-Identifier: GPL-2.0-or-later
# Peer of sim/experiments/tfrc_chain: its flows over a chain in ns-2.35.
# usage: ns ns2_tfrc.tcl HOPS CBR_BPS SECONDS SEED [SPACING_M] [DSR|AODV] [TCP_FLOWS] [TFRC_FLOWS]
# Prints, for both kinds of flows, packets that arrived: {"tcp_packets": N, "tfrc_packets": N, "tfrc_over_tcp": X}
source [file join [file dirname [info script]] ns2_network.tcl]
lassign $argv hops cbr_bps seconds seed spacing routing tcp_flows tfrc_flows
if {$spacing eq ""} {set spacing 250}
if {$routing eq ""} {set routing DSR}
if {$tcp_flows eq ""} {set tcp_flows 10}
if {$tfrc_flows eq ""} {set tfrc_flows 10}
ns-random $seed
# What agents get, counted by awk as it comes.
set count {$1 == "r" && $4 == "AGT" && $3 == last {if ($7 == "tcp") tcp++; if ($7 == "tcpFriend") tfrc++} \
  END {printf "{\"tcp_packets\": %d, \"tfrc_packets\": %d, \"tfrc_over_tcp\": %.3f}\n", tcp, tfrc, tcp ? tfrc / tcp : 0}}
set tf [open [list | awk -v last=_${hops}_ $count >@stdout] w]
make_chain $hops $spacing $routing ON $tf
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
set udp [new Agent/UDP]
$udp set packetSize_ 1000
connect $udp [new Agent/Null]
set cbr [new Application/Traffic/CBR]
$cbr set packetSize_ 1000
$cbr set rate_ $cbr_bps
$cbr attach-agent $udp
$ns_ at 5 "$cbr start"
$ns_ at $seconds "finish"
proc finish {} {
  global ns_ tf
  $ns_ flush-trace
  close $tf
  exit 0
}
$ns_ run
