"""The language of real sentences, and none rather than a guess."""

import pytest

from pipeline.text.language import language


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "The tenant shall pay the rent to the landlord on the first of each month, and this is in addition to it.",
            "en",
        ),
        (
            "Der Mieter zahlt die Miete an den Vermieter und ist für die Schäden verantwortlich, die er nicht meldet.",
            "de",
        ),
        ("Le locataire paie le loyer au bailleur et il est responsable des dommages dans le logement.", "fr"),
        ("El arrendatario paga la renta al arrendador y es responsable de los daños en la vivienda.", "es"),
        ("Арендатор платит арендную плату арендодателю первого числа.", "ru"),
        ("賃借人は毎月一日に家賃を支払うものとする。", "ja"),
        ("承租人应于每月一日向出租人支付租金。", "zh"),
        ("12345 67890 --- ###", None),
        ("", None),
        ("Xyzzy plugh", None),
        ("임차인은 매월 1일에 임대료를 지급한다.", "ko"),
        ("μισθωτής καταβάλλει το μίσθωμα την πρώτη κάθε μήνα.", "el"),
        ("يدفع المستأجر الإيجار في اليوم الأول من كل شهر.", "ar"),
        ("השוכר ישלם את דמי השכירות בראשון לכל חודש.", "he"),
        ("ผู้เช่าต้องชำระค่าเช่าทุกวันที่หนึ่งของเดือน", "th"),
        ("किरायेदार हर महीने की पहली तारीख को किराया देगा।", "hi"),
        ("ভাড়াটে প্রতি মাসের প্রথম দিনে ভাড়া দেবেন।", None),
        ("Վարձակալը վճարում է վարձը (см. договор).", None),
        ("\ufeff\ufeff", None),
        ("\U0003134f" * 5, "zh"),
    ],
)
def test_language(text: str, expected: str | None) -> None:
    assert language(text) == expected
