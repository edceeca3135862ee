"""The table of trace predicates: one file each, one row here."""

from typing import Final

from bylaw.vocabulary.predicates.after import AFTER
from bylaw.vocabulary.predicates.all_before import ALL_BEFORE
from bylaw.vocabulary.predicates.before import BEFORE
from bylaw.vocabulary.predicates.branch_called import BRANCH_CALLED
from bylaw.vocabulary.predicates.called import CALLED
from bylaw.vocabulary.predicates.called_exactly import CALLED_EXACTLY
from bylaw.vocabulary.predicates.called_n import CALLED_N
from bylaw.vocabulary.predicates.called_with import CALLED_WITH
from bylaw.vocabulary.predicates.called_with_result import CALLED_WITH_RESULT
from bylaw.vocabulary.predicates.in_order import IN_ORDER
from bylaw.vocabulary.predicates.instance_before import INSTANCE_BEFORE
from bylaw.vocabulary.predicates.within_steps import WITHIN_STEPS

PREDICATES: Final = {
    predicate.name: predicate
    for predicate in (
        CALLED,
        CALLED_N,
        BEFORE,
        AFTER,
        ALL_BEFORE,
        INSTANCE_BEFORE,
        IN_ORDER,
        WITHIN_STEPS,
        CALLED_WITH,
        CALLED_WITH_RESULT,
        CALLED_EXACTLY,
        BRANCH_CALLED,
    )
}
