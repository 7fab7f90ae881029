"""Two versions of what a launch runs, of which the faster one is found out by the way: one in lanes, one without.

Whether threads that look places up are better off in lanes may be decided by the data: where neighbours look at the
same places, or all is in the nearest cache, one after the other may be faster, and where each waits for memory lanes
wait together. Both versions run the same groups (`weft.codegen.work_groups.groups`), or grains of a loop
(`weft.codegen.parallel.parallel_launch`). So the thread that launches runs its first groups by turns, one piece by each
version, and reads the clock. What is chosen runs the rest, and further launches; the other threads of the pool follow.
After a while there is another trial, as data change, and sooner where groups take another time than just behind the
last one::

    pieces:   A | B   B | A   A | B   B | A  ...      the first pair warms the caches
    a pair:   share = (a - b) / (a + b), time of a group, at most `MOST`, and less beyond
    chosen:   when the shares of three or more pairs add up to `CLEAR`; else by the sign of eight, and half of what the
              trials before have found

The clock of a trial is the time of the thread (`clock`): on machines that others use, every other piece of a
millisecond is interrupted for four. A piece is long enough to be measured (`LEAST`, 50 us). Where that has not told
which version is faster for sure, pieces of later trials are 16 times as long: those of one version pay for what the
other one leaves in the caches. Both versions of a pair run groups of the same launch, half of
what is left of it at most, and launches that are shorter than a pair add up to one: what a group takes differs from
launch to launch, as where each is a level of a search. Where launches have few groups (`FEW`), as many as the one
before, one version runs a whole launch and the other one the next, as these groups may have more or less to do. Pairs
of the first trial follow each other, as launches may be few; those of later ones are `GAP` cycles apart, which what is
chosen runs, so that a trial does not see one kind of launch only where they take turns. What the slower version has
lost in a trial is at most one part in `PATIENCE` of the time until the next one, so that trials cost little whatever
the versions take; the second trial is soon behind the first.

`versions.run_better` is the way in; `state` is what a trial keeps, `pairs` what is compared, `clock` by
which time, `run` how groups are run.
"""

from weft.codegen.trials.versions import BOTH_WAYS, may_try, run_better

__all__ = ["BOTH_WAYS", "may_try", "run_better"]
