"""The study of two flows that most tests run."""

STUDY = """\
title    = "Two flows on a slow link"
question = "Who gets more?"
duration = "2s"
warmup   = "500ms"
seed     = 7
repeat   = 2

[network.bottleneck]
rate  = "10Mbit"
delay = "5ms"
queue = { kind = "droptail", limit = "1bdp" }

[[flow]]
name = "short"
cc   = "cubic"
rtt  = "20ms"

[[flow]]
name = "long"
cc   = "reno"
rtt  = "60ms"

[sweep]
"flow.short.cc" = ["reno", "cubic"]
"""
