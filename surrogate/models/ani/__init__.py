"""The family `ani`: energies and forces of molecules from symmetry functions and one network an element.

After J. S. Smith, O. Isayev, A. E. Roitberg, Chem. Sci. 8, 3192 (2017), and J. Behler, M. Parrinello, Phys. Rev. Lett.
98, 146401 (2007).
"""
