"""What the console knows: core's facts folded into immutable views. No store knows a widget."""
