"""Names of months in the languages of the European Union, as dates have them, with their usual short forms."""

# ruff: noqa: RUF001  other scripts are meant; a list of words reads best as words
from typing import Final

_NAMES: Final = (
    # English, German, French, Dutch, Scandinavian; then Spanish, Italian, Portuguese, Romanian; Polish, Czech, Slovak,
    # Croatian, Slovenian; Hungarian, Finnish, Estonian, Latvian, Lithuanian; Irish, Maltese; Greek, Bulgarian
    "january jan januar jänner janvier janv januari enero ene gennaio gen janeiro ianuarie stycznia styczeń sty ledna "
    "leden januára január siječnja siječanj januarja tammikuuta tammikuu jaanuar janvāris janvārī janvāra sausio "
    "sausis eanáir jannar ιανουαρίου ιανουάριος ιαν януари",
    "february feb februar feber février fevrier févr februari febr febrero febbraio febb fevereiro fev februarie "
    "lutego luty lut února únor februára február veljače veljača februarja helmikuuta helmikuu veebruar februāris "
    "februārī februāra vasario vasaris feabhra frar φεβρουαρίου φεβρουάριος φεβ февруари",
    "march mar märz maerz mär mrz mars maart mrt marts marzo março marco martie marca marzec března březen "
    "ožujka ožujak marec március márc maaliskuuta maaliskuu märts martā marta kovo kovas márta marzu μαρτίου μάρτιος "
    "март",
    "april apr avril avr abril abr aprile aprilie kwietnia kwiecień kwi dubna duben apríla apríl travnja travanj "
    "aprila április ápr huhtikuuta huhtikuu aprill aprīlis aprīlī aprīļa balandžio balandis aibreán απριλίου απρίλιος "
    "απρ април",
    "may mai mei maj mayo maggio mag maio maja května květen mája máj svibnja svibanj május toukokuuta toukokuu "
    "maijs maijā maija gegužės gegužė bealtaine mejju μαΐου μάιος μαΐ май",
    "june jun juni juin junio giugno giu junho iunie czerwca czerwiec cze června červen júna jún lipnja lipanj "
    "junija junij június kesäkuuta kesäkuu juuni jūnijs jūnijā jūnija birželio birželis meitheamh ġunju ιουνίου "
    "ιούνιος юни",
    "july jul juli juillet juil julio luglio lug julho iulie lipca lipiec lip července červenec júla júl srpnja "
    "srpanj julija julij július heinäkuuta heinäkuu juuli jūlijs jūlijā jūlija liepos liepa iúil lulju ιουλίου "
    "ιούλιος юли",
    "august aug août aout augustus augusti agosto ago sierpnia sierpień sie srpna srpen augusta kolovoza kolovoz "
    "avgusta avgust augusztus elokuuta elokuu augusts augustā rugpjūčio rugpjūtis lúnasa awwissu αυγούστου αύγουστος "
    "август",
    "september sept sep septembre septiembre setiembre settembre sett setembro septembrie września wrzesień wrz září "
    "septembra rujna rujan szeptember szept syyskuuta syyskuu septembris septembrī rugsėjo rugsėjis settembru "
    "σεπτεμβρίου σεπτέμβριος септември",
    "october oct oktober okt octobre octubre ottobre ott outubro octombrie października październik paź října říjen "
    "októbra október oktobra lokakuuta lokakuu oktoober oktobris oktobrī spalio spalis ottubru "
    "οκτωβρίου οκτώβριος октомври",
    "november nov novembre noviembre novembro noiembrie listopad listopada listopadu novembra studenoga studenog "
    "studeni "
    "marraskuuta marraskuu novembris novembrī lapkričio lapkritis samhain novembru νοεμβρίου νοέμβριος ноември",
    "december dec dezember dez décembre decembre déc diciembre dic dicembre dezembro decembrie grudnia grudzień gru "
    "prosince prosinec decembra prosinca detsember joulukuuta joulukuu decembris decembrī gruodžio gruodis nollaig "
    "diċembru δεκεμβρίου δεκέμβριος декември",
)
MONTHS: Final = {name: number for number, names in enumerate(_NAMES, start=1) for name in names.split()}
"""The number of a month by its name in lower case. "Listopad" is November (Polish, Czech), though Croatian's "
"October."""
