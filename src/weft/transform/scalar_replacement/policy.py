"""The four policies of scalar replacement (paper 004, §4, §5 and §6)."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class PolicyName(StrEnum):
    """How options call the policies."""

    OFF = "off"
    SRQP = "srqp"
    ESRQP = "esrqp"
    SSRQP = "ssrqp"
    SSRQP_S = "ssrqp_s"


class Policy(Struct, frozen=True):
    """Where loads may be inserted.

    Parameters
    ----------
    name
        What it is called.
    keeps_convergent
        Whether nothing is inserted into what depends on a divergent branch (the paper's CDRND).
    masks
        Whether inserted loads may be for a part of the threads: the loads of a loop's first iteration for those that
        enter it, loads of arms for those that will take the arm. They keep the mask they had.
    speculates
        Whether loads leave the arms of divergent branches.
    any_branch
        Whether all branches count as divergent for that (SSRQP_S).
    wide
        Whether a place is taken for anticipated where one a constant apart is, as in the paper, and its bytes are
        known to be there. It may cost a load for each entry of a loop.
    """

    name: PolicyName
    keeps_convergent: bool = True
    masks: bool = False
    speculates: bool = False
    any_branch: bool = False
    wide: bool = False


POLICIES: dict[PolicyName, Policy] = {
    PolicyName.SRQP: Policy(PolicyName.SRQP, keeps_convergent=False, masks=True),
    PolicyName.ESRQP: Policy(PolicyName.ESRQP),
    PolicyName.SSRQP: Policy(PolicyName.SSRQP, masks=True, speculates=True),
    PolicyName.SSRQP_S: Policy(PolicyName.SSRQP_S, masks=True, speculates=True, any_branch=True),
}
