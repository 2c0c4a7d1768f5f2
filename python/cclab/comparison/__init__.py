"""Comparing two sets of results: stores, backends or variants.

sides       what the two are, and their runs
matching    which runs are compared with which
results     the comparison and its document
changes     in which keys the two differ
difference  differences over runs and their intervals
permutation how often chance alone would show as much
correction  p-values corrected for their number
overall     a metric over all sweep points
metric      what can be compared
verdict     better, worse or no evidence, and the difference in words
margin      better, no worse, worse or undecided against a margin
demand      which outcomes count as a failure
figure      the differences drawn
doubts      where it may not show what it seems to show
"""
