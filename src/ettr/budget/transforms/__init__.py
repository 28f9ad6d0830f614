"""Laplace transforms of the hours of a run: recoveries, stages, and the numerical inversion.

Every function takes values of s with one more axis than the arrays of the run. It returns the transform
:math:`E\\,e^{-sT}` of the time T that it is named after, or, where the name begins with ``missing``, one minus the
transform, which keeps its digits where s is small. Kulkarni, Nicola and Trivedi (1987, 1990).
"""
