# SPDX-License-Identifier: GPL-2.0-or-later
# Peer for bench_sim.py and bench_peers.py: one TCP flow over a chain in ns-2.35.
# usage: ns ns2_chain.tcl HOPS WINDOW SECONDS SEED [DSR|AODV|STATIC] [Newreno|Reno]
# STATIC: ns-2 has no static routes for radios. DSDV finds them in the first 300 s, in which nothing else happens, says nothing more in
# this run, and heeds no failure of the MAC; then the flow begins, for SECONDS.
# Prints: {"delivered_packets": N}
source [file join [file dirname [info script]] ns2_network.tcl]
lassign $argv hops window seconds seed routing variant
if {$routing eq ""} {set routing DSR}
if {$variant eq ""} {set variant Newreno}
set start 0
if {$routing eq "STATIC"} {
  set routing DSDV
  set start 300
  Agent/DSDV set perup_ 100000
}
ns-random $seed
make_chain $hops 250 $routing OFF [open /dev/null w]
Agent/TCP set packetSize_ 1460
set tcp [new Agent/TCP/$variant]
$tcp set window_ $window
connect $tcp [new Agent/TCPSink]
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns_ at [expr {$start + 0.1}] "$ftp start"
$ns_ at [expr {$start + $seconds}] "finish"
proc finish {} {
  global tcp
  puts "{\"delivered_packets\": [$tcp set ack_]}"
  exit 0
}
$ns_ run
