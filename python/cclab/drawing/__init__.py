"""What every figure is made with: how it looks, its colours, its legend and its ticks."""
