"""What every figure is made with.

style    how all figures look, and how they become files
palette  how each variant looks
sheet    panels and their labels
marks    lines, intervals, events and remarks in them
legend   the legend above them
ticks    ticks that stay apart, scales, and the layout for good
thin     fewer points that look the same
"""
