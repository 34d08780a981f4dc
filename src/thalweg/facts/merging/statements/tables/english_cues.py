"""What tells how an English statement is meant: that it is new, over, a wish, one more.

Phrases of a table are parted by ` ; `. They are folded as statements are.
"""

from collections.abc import Iterator


def phrases(table: str) -> Iterator[str]:
    """Give the phrases of a table."""
    return (phrase.strip() for phrase in table.replace("\n", " ").split(";"))


NOW = r"""
now ; current ; currently ; (on )?these day ; at (the )?moment ; nowadays ; at present ;
presently ; yesterday ; as of (today|now|@\S+) ; from now on ; going forward ; lately ; recently ;
just ; instead ; anymore ; any more ; any longer ; by now ; meanwhile ; today ; already ;
finally ;
since ; eventually ; new
"""
"""It holds now, and perhaps did not before."""
CHANGE = r"""
switch ; move ; change ; relocate ; migrate ; replace ; become ; update ; upgrade ;
downgrade ; turn ; rename ; push ; postpone ; reschedule ; extend ; shorten ; raise ;
increase ; reduce ; lower ; cut ; convert ; shift ; swap ; trade ; transfer ; promote ;
take over ; hand over ; took over ; begin(?! at| on) ; stop(?! at| on) ; quit ;
leave ; give up ; no longer ; go back ; back ; grow ; rather than ; instead of ; be down to ;
be up to ; pick up ;
get a new ; bump ; bring forward ; be set to ; adopt ; drop ; retire ; gone ; cancel ;
resign ; sell ; break up ; divorc ; join ; since .* ; now that ; go up ; go down ; rise ;
fall ; settle on ; reassign ; ditch ; abandon ; abolish ; die ; pass away ; recover ;
at last ; former ; formerly ; over to ; for good ; slip ; graduate ; delay
"""
"""It is told as a change."""
CORRECTION = r"""
actually ; correction ; small correction ; be wrong ; mistake ; mistaken ; misread ;
misspoke ; mix up ; mean ; meant ; sorry ; clarify ; in fact ; turn out ; typo ; not ; oops ;
wrong ; correct ; wrongly ; confuse ; should be ; rather ; change mind ; change user 's mind ;
scratch that ; my bad ; to be precise ; i misremember ; misremember
"""
"""It is told as a correction."""
OVER = r"""
no longer ; not .* anymore ; not .* any more ; not .* any longer ; stop ; quit ; give up ;
formerly ; be gone ; be over ; die ; pass away ; break up with ; leave(?! at| on| for| from| in) ;
resign from ; cancel ; get rid of ; sell ; be do with ; drop ; be retire ; be discontinue ;
move away from ; move on from ; be shut down ; ditch ; abandon ; be no more ; be dead ;
graduate from
"""
"""It held, and does no more."""
OVER_WORDS = r"""
no longer ; not ; do not ; anymore ; any more ; stop ; quit ; give up ; formerly ; gone ; be ;
over ; die ; pass away ; break up with ; leave ; resign from ; cancel ; graduate from ;
get rid of ; sell ; drop ; retire ; discontinue ; finish ; away ; dead ; abandon ; ditch ;
no more ; longer ; in spring ; in summer ; in autumn ; in winter
"""
"""What is taken out of a clause that tells of an end, to leave what has ended."""
NEGATION = r"""
not ; never ; no ; without ; neither ; nor ; dislike ; avoid
"""
"""It is not so."""
WISH = r"""
want to ; would like to ; plan to ; intend to ; hope to ; be think of ; be think about ;
think of ; think about ; consider ; may ; might ; could ; will ; be going to ; going to ;
wish to ; dream of ; look to ; look for ; apply to ; apply for ; interview ; aim to ; hope ;
if ; plan a ; would love to ; maybe ; perhaps ; want study ; would like study ; plan on ;
goal
"""
"""It does not hold yet: a plan, a hope, a chance."""
ADDITION = r"""
also ; too ; as well ; additionally ; another ; in addition ; besides ; part-time ;
on the side ; a 2th ; a 3th ; 2th job ; as well as ; both ; one more ; an other
"""
"""It holds beside what was known."""
PAST = r"""
from @?\d\S* (to|until|till) @?\d\S* ; formerly ; back then ;
in the past ; as a (student|child|kid|teenager) ; years? ago ; previous ; previously ;
former ; once(?! a| per| every| each) ; when user be ;
(work|live|be|study) .* until @?\d\S* ; originally
"""
"""It held once; nothing is told of now."""
PAST_YEAR = r"in @?(19|20)\d\d(-\S+)?"
"""The same, where it is told in the past tense."""
LEAD_INS = r"""
typo ; i be wrong ; user be wrong ; actually ; by the way ; fyi ; update ; correction ;
small correction ; remember that? ; note that? ; just so you know ; also ; well ; so ; hey ;
ok ; okay ; yes ; please ; hm ;
sorry ; user (?:say|mention|clarify|state|report|note|explain) that? ; user mean ;
user ask for ; oops ; no ; it turn out that? ; in fact
"""
"""What a statement may begin with and be the same without it."""
