"""Texts that an encoder computes once, to find out what its activations are like: of several kinds and languages, short
and made up. Another text here makes another arithmetic of every model (NUMERICS.md)."""
# ruff: noqa: RUF001  letters of other scripts are meant

TEXTS = (
    "The tenant shall pay the rent of EUR 1,250.00 on the first day of each month, in advance and without deduction.",
    "Patient, 67 y, admitted 2024-03-11 with chest pain (NRS 7/10); ECG: ST elevation II, III, aVF. ASA 500 mg i.v.",
    "Dear Sir or Madam, I have been waiting three weeks for a refund. Order no. 4711-0815. Please answer by Friday!",
    "Invoice 2023/117: 4 x toner cartridge, black, 38.90 each; shipping 5.95; VAT 19 %; total due 191.58, net 14 days.",
    "We propose a method that learns to rank passages from weak labels, and show that it needs a tenth of the queries.",
    "Der Antrag auf Akteneinsicht wurde am 3. Mai gestellt und ohne Begründung abgelehnt; Widerspruch ist zulässig.",
    "Le fournisseur garantit que les biens livrés sont conformes au contrat et exempts de tout vice apparent.",
    "El paciente refiere tos seca desde hace dos semanas, sin fiebre; no toma medicación y no tiene alergias.",
    "I cannot log in since the update. The app says \"error 0x80070005\", then closes. My phone is two years old.",
    "card not working",
    "Minutes of the board: 1. Approval of the accounts. 2. Dividend of 0.32 a share. 3. Any other business: none.",
    "SELECT name, sum(amount) FROM payments WHERE paid_at >= '2024-01-01' GROUP BY name HAVING sum(amount) > 10000;",
    "The quick inspection found rust on bolts 3, 7 and 12 of the east girder; replace within 90 days, see photo 4.",
    "Договор вступает в силу со дня подписания и действует до тридцать первого декабря.",
    "本合同自双方签字之日起生效，有效期为两年。",
    "He said that she said that they had said so, and nobody in the room believed a word of what either of them said.",
)  # fmt: skip
