"""The family `atomic_kernel`: a potential for small data, solved in closed form from forces.

Kernel regression over the surroundings of atoms, matched to forces with the full second derivatives of the kernel, as
in A. S. Christensen, L. A. Bratholm, F. A. Faber, O. A. von Lilienfeld, J. Chem. Phys. 152, 044107 (2020), with the
symmetry functions of the family `ani` for descriptors.
"""
