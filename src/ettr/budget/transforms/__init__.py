"""The time of a run by its Laplace transform: what follows a failure, the stages of a run, and the way back to hours.

Every function takes values of s with one axis more than the arrays of the run, and gives :math:`E\\,e^{-sT}` of what it
is named after, or what is left of 1. Kulkarni, Nicola and Trivedi (1987, 1990).
"""
