"""What the runs of a plan measured, and what follows from it.

points     sweep points, and what the runs of each measured
results    the metrics of every run, and what they come to
summary    estimates over the runs of sweep points
grouped    those of groups of flows
pooled     percentiles over the flows of all runs
stats      bootstrap intervals
findings   what an interval shows of a bound
expect     the expectations of a study
repeats    when a sweep point has enough runs
"""
