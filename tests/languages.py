"""Questions of customers in German, French and Spanish, and what they are about: eight topics with English examples.

Written for this project. The questions share no words with the examples of their topic, but for names of products.
"""

from pipeline.tasks import ClassifySettings, Label

TOPICS: dict[str, tuple[str, ...]] = {
    "card lost or stolen": (
        "I cannot find my bank card anywhere.",
        "Somebody has taken my wallet with the card in it.",
        "Please block my card, I left it on the train.",
    ),
    "delivery": (
        "When will my parcel arrive?",
        "The tracking page has not changed for four days.",
        "My order was supposed to be here on Monday.",
    ),
    "refund": (
        "I want my money back for the broken lamp.",
        "How long does it take until you return the payment?",
        "I sent the shoes back and have not been repaid.",
    ),
    "password and login": (
        "I forgot my password.",
        "The page says that my account is locked after three attempts.",
        "The code for signing in never reaches my phone.",
    ),
    "end a contract": (
        "I would like to cancel my subscription at the end of the month.",
        "What is the notice period for my contract?",
        "Please confirm that my membership has been terminated.",
    ),
    "change of address": (
        "I have moved; please send letters to my new home.",
        "How do I update the street and postcode in my profile?",
        "From May we live in another town.",
    ),
    "invoice is wrong": (
        "You charged me twice for the same month.",
        "The amount on the bill is higher than what we agreed.",
        "Why is there a fee on my invoice that I do not know?",
    ),
    "job application": (
        "Is the position of accountant still open?",
        "I attach my CV and would like to work for you.",
        "When will you decide about the interviews?",
    ),
}
QUESTIONS: dict[str, tuple[tuple[str, str], ...]] = {
    "de": (
        ("Meine Karte ist weg, ich glaube, sie wurde mir im Bus entwendet.", "card lost or stolen"),
        ("Wo bleibt mein Paket? Die Sendungsverfolgung steht seit Tagen still.", "delivery"),
        ("Der Mixer war defekt, bitte erstatten Sie mir den Kaufpreis.", "refund"),
        ("Ich komme nicht mehr in mein Konto, das Kennwort wird nicht angenommen.", "password and login"),
        ("Hiermit kündige ich mein Abonnement zum nächstmöglichen Zeitpunkt.", "end a contract"),
        ("Wir sind umgezogen. Bitte ändern Sie die Anschrift in Ihren Unterlagen.", "change of address"),
        ("Auf der letzten Rechnung steht ein zu hoher Betrag.", "invoice is wrong"),
        ("Ich bewerbe mich um die ausgeschriebene Stelle als Buchhalterin.", "job application"),
        ("Wie viele Wochen im Voraus muss ich den Vertrag beenden?", "end a contract"),
        ("Ihr habt die Gebühr für März doppelt abgebucht.", "invoice is wrong"),
    ),
    "fr": (
        ("On m'a volé ma carte bancaire hier soir au restaurant.", "card lost or stolen"),
        ("Mon colis devait être livré mardi et je n'ai toujours rien reçu.", "delivery"),
        ("Je vous ai renvoyé la veste, quand serai-je remboursée ?", "refund"),
        ("J'ai oublié mon mot de passe et je ne peux plus me connecter.", "password and login"),
        ("Je souhaite résilier mon abonnement à la fin du mois.", "end a contract"),
        ("Nous avons déménagé à Lyon, merci de mettre à jour nos coordonnées.", "change of address"),
        ("Votre facture comporte des frais que je ne comprends pas.", "invoice is wrong"),
        ("Veuillez trouver ci-joint mon curriculum vitae pour le poste de comptable.", "job application"),
        ("Le code de connexion n'arrive jamais par SMS.", "password and login"),
        ("Le livreur n'est pas passé, où se trouve ma commande ?", "delivery"),
    ),
    "es": (
        ("He perdido la tarjeta en el metro, bloquéenla por favor.", "card lost or stolen"),
        ("¿Cuándo llega mi paquete? Lleva una semana parado.", "delivery"),
        ("La lámpara llegó rota y quiero que me devuelvan el dinero.", "refund"),
        ("No puedo entrar en mi cuenta porque he olvidado la contraseña.", "password and login"),
        ("Quiero darme de baja a finales de mes.", "end a contract"),
        ("Me he mudado a Sevilla y hay que cambiar mi domicilio.", "change of address"),
        ("Me han cobrado dos veces el mismo recibo.", "invoice is wrong"),
        ("Les envío mi currículum para el puesto de contable.", "job application"),
        ("Devolví los zapatos hace un mes y aún no veo el reembolso.", "refund"),
        ("¿Con cuánta antelación tengo que avisar para rescindir el contrato?", "end a contract"),
    ),
}


def settings(*, with_examples: bool = True) -> ClassifySettings:
    """The task: a label for each topic, described by its name, and perhaps by its English examples."""
    return ClassifySettings(
        tuple(Label(name, "", examples if with_examples else ()) for name, examples in TOPICS.items()), threshold=0.0
    )
