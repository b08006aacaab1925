# SPDX-License-Identifier: GPL-2.0-or-later
# Nodes with 802.11 DSSS at 2 Mb/s in ns-2.35 (Debian package ns2), which the scripts of this folder source.

# Makes ns_ and node_(0) to node_(nodes - 1), which are nowhere yet. Events go to the channel trace; agent_trace (ON or OFF): those of
# agents, too.
proc make_network {nodes width_m height_m routing agent_trace trace queue_packets} {
  global ns_ node_ god_
  set ns_ [new Simulator]
  $ns_ trace-all $trace
  Mac/802_11 set dataRate_ 2.0e6
  Mac/802_11 set basicRate_ 1.0e6
  Mac/802_11 set RTSThreshold_ 0
  Phy/WirelessPhy set CSThresh_ 1.559e-11
  Phy/WirelessPhy set RXThresh_ 3.652e-10
  set topo [new Topography]
  $topo load_flatgrid $width_m $height_m
  set god_ [create-god $nodes]
  # DSR is what the papers ran; its queue type is its own.
  set queue [expr {$routing eq "DSR" ? "CMUPriQueue" : "Queue/DropTail/PriQueue"}]
  $ns_ node-config -adhocRouting $routing -llType LL -macType Mac/802_11 -ifqType $queue -ifqLen $queue_packets \
    -antType Antenna/OmniAntenna -propType Propagation/TwoRayGround -phyType Phy/WirelessPhy \
    -channel [new Channel/WirelessChannel] -topoInstance $topo \
    -agentTrace $agent_trace -routerTrace OFF -macTrace OFF -movementTrace OFF
  for {set i 0} {$i < $nodes} {incr i} {
    set node_($i) [$ns_ node]
    $node_($i) random-motion 0
  }
}

# A chain: node_(0) to node_(hops).
proc make_chain {hops spacing_m routing agent_trace trace} {
  global node_
  set nodes [expr {$hops + 1}]
  make_network $nodes [expr {250 * ($nodes + 1)}] 500 $routing $agent_trace $trace 50
  for {set i 0} {$i < $nodes} {incr i} {
    $node_($i) set X_ [expr {1 + $spacing_m * $i}]
    $node_($i) set Y_ 100
    $node_($i) set Z_ 0
  }
}

# Nodes that move as a file in setdest's format says, which perhop.mobility.setdest writes.
proc make_moving {nodes width_m height_m motion routing agent_trace trace} {
  global ns_ node_ god_
  # ns-2 takes places within its topography only, and not those on its edge.
  make_network $nodes [expr {$width_m + 1}] [expr {$height_m + 1}] $routing $agent_trace $trace 50
  source $motion
}

# Packets of source go from one node to another; of no other numbers from the first of all nodes to the last.
proc connect {source sink {from 0} {to -1}} {
  global ns_ node_
  if {$to < 0} {set to [expr {[array size node_] - 1}]}
  $ns_ attach-agent $node_($from) $source
  $ns_ attach-agent $node_($to) $sink
  $ns_ connect $source $sink
}
