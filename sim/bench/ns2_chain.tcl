# SPDX-License-Identifier: GPL-2.0-or-later
# Peer for bench_sim.py and bench_peers.py: one TCP flow over a chain in ns-2.35 (Debian package ns2).
# usage: ns ns2_chain.tcl HOPS WINDOW SECONDS SEED [DSR|AODV] [Newreno|Reno]
# Prints: {"delivered_packets": N}
lassign $argv hops window seconds seed routing variant
if {$routing eq ""} {set routing DSR}
if {$variant eq ""} {set variant Newreno}
ns-random $seed
set ns_ [new Simulator]
set tf [open /dev/null w]
$ns_ trace-all $tf
Mac/802_11 set dataRate_ 2.0e6
Mac/802_11 set basicRate_ 1.0e6
Mac/802_11 set RTSThreshold_ 0
Phy/WirelessPhy set CSThresh_ 1.559e-11
Phy/WirelessPhy set RXThresh_ 3.652e-10
set nodes [expr {$hops + 1}]
set topo [new Topography]
$topo load_flatgrid [expr {250 * ($nodes + 1)}] 500
create-god $nodes
# DSR is what the papers ran; its queue type is its own.
set queue [expr {$routing eq "DSR" ? "CMUPriQueue" : "Queue/DropTail/PriQueue"}]
$ns_ node-config -adhocRouting $routing -llType LL -macType Mac/802_11 -ifqType $queue -ifqLen 50 \
  -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround -phyType Phy/WirelessPhy \
  -channel [new Channel/WirelessChannel] -topoInstance $topo \
  -agentTrace OFF -routerTrace OFF -macTrace OFF -movementTrace OFF
for {set i 0} {$i < $nodes} {incr i} {
  set node($i) [$ns_ node]
  $node($i) random-motion 0
  $node($i) set X_ [expr {1 + 250 * $i}]
  $node($i) set Y_ 100
  $node($i) set Z_ 0
}
Agent/TCP set packetSize_ 1460
set tcp [new Agent/TCP/$variant]
$tcp set window_ $window
set sink [new Agent/TCPSink]
$ns_ attach-agent $node(0) $tcp
$ns_ attach-agent $node($hops) $sink
$ns_ connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns_ at 0.1 "$ftp start"
$ns_ at $seconds "finish"
proc finish {} {
  global tcp
  puts "{\"delivered_packets\": [$tcp set ack_]}"
  exit 0
}
$ns_ run
