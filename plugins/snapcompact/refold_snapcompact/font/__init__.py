"""The glyphs: X11 misc-fixed 8x13, and the wide glyphs of its Japanese companion. Both are in the public domain."""
