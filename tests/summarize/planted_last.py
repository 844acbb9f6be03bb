"""A third held-out set, written like `planted_again.AGAIN` and after it.

No rule was changed for its sentences; for the changes some were. docs/summaries.md has the figures.
"""

from __future__ import annotations

LAST: dict[str, list[str]] = {
    "rule": [
        "Anything that touches the general ledger goes through a dry run first.",
        "heads up, the bootloader partition must stay untouched no matter what.",
        "For as long as we work on this, leave my handwritten notes in the margins where they are.",
        "Whenever you change an endpoint, update the OpenAPI file in the same commit.",
        "pls don't restart the broker without telling me beforehand.",
        "I'd appreciate it if you never quoted the interviewees by their full names.",
        "Raw files from the lab are sacred, work on copies.",
        "Interrupt handlers may not allocate memory.",
        "Each booking has to carry a receipt number, no exceptions.",
        "we can't have gameplay logic in the rendering thread, so keep it out of there.",
        "Bitte ändere nichts an der Lohnabrechnung, ohne vorher nachzufragen.",
        "On ne modifie jamais les fichiers de configuration directement sur le serveur.",
    ],
    "limit": [
        "The firmware has to fit into 64 kB of flash.",
        "we only get 16 ms per frame so don't blow it.",
        "The abstract can't go past 250 words.",
        "Please plan with a maximum of 1,500 euros for the cloud bill this month.",
        "The tax filing is due on 31 July.",
        "I need all of this wrapped up by Thursday noon at the latest.",
        "Batches of more than 5000 rows choke the warehouse, so stay under that.",
        "Rounding differences above 0.05 per invoice are not acceptable.",
        "uptime needs to be 99.9 or better.",
        "Stick to two replicas, the cluster won't take a third.",
        "Das Kapitel darf höchstens 20 Seiten haben.",
        "No podemos gastar más de 80 dólares en la API de mapas.",
    ],
    "goal": [
        "By the end of this I'd like our checkout to survive a Black Friday rush.",
        "so basically i want to turn my old platformer into a two player game.",
        "We have to get the thermostat firmware off the abandoned RTOS and onto Zephyr.",
        "I'm writing a grant proposal about river restoration and need you to help me finish it.",
        "The idea is that the bookkeeper never has to type a bank statement by hand again.",
        "What we're after is a pipeline that can be replayed from any day.",
        "Could you help me bring this Django monolith to a state where we can split off billing.",
        "This project exists to give the on-call people a quiet night.",
        "Our job this week is to consolidate the books of all four subsidiaries.",
        "trying to build a small cli that cleans up my photo library.",
        "Wir wollen das alte Lagersystem komplett durch eine Weboberfläche ersetzen.",
        "L'objectif est de publier le roman en version numérique avec un index complet.",
    ],
    "preference": [
        "I'm more comfortable with Python than with bash, so go for that where you can.",
        "could you keep the explanations to a couple of sentences.",
        "Give me the conclusion up front and the reasoning afterwards.",
        "I'm not a fan of one-letter variables.",
        "No need to walk me through every step, just show me the result.",
        "Feel free to be blunt when my prose is bad.",
        "Ideally the spreadsheets use one colour per department.",
        "Type hints everywhere would make me happy.",
        "i tend to read on my phone, so short lines help.",
        "I usually go with early returns instead of deep nesting.",
        "Mir ist lieber, wenn du mich duzt.",
        "Prefiero que me contestes en español y sin tecnicismos.",
    ],
    "fact": [
        "The debug UART is on /dev/ttyUSB3 at 115200 baud.",
        "fyi the raw exports land in s3://harbor-raw-prod/incoming.",
        "Cost centre 4410 belongs to the marketing department.",
        "Our game's app id on Steam is 2918840.",
        "you can reach the supplier at orders@lindqvist.example.",
        "Der Mandant im Buchhaltungssystem hat die Nummer 70215.",
    ],
    "state": [
        "I've finished levels one through four, the boss fight hasn't been started.",
        "the backfill got stuck at march 2022 and i haven't resumed it.",
        "Chapters 1 and 2 are edited, chapter 3 needs another pass.",
        "Currently the node boots but the radio stays silent.",
        "We already reconciled January, February is on hold until the bank replies.",
        "La migration des comptes est terminée, il reste les factures à traiter.",
    ],
}

CHANGES_LAST: list[tuple[str, str]] = [
    (
        "The firmware has to fit into 64 kB of flash.",
        "The new board has 128 kB of flash, so the firmware can use all of that.",
    ),
    (
        "pls don't restart the broker without telling me beforehand.",
        "you can restart the broker whenever you need to, no need to tell me.",
    ),
    (
        "The tax filing is due on 31 July.",
        "We got an extension, the tax filing is due on 30 September.",
    ),
    (
        "The abstract can't go past 250 words.",
        "The journal lets us have 300 words for the abstract.",
    ),
    (
        "Interrupt handlers may not allocate memory.",
        "With the new allocator, interrupt handlers can allocate memory after all.",
    ),
    (
        "I want the dashboard written in Vue.",
        "Changed my mind, the dashboard should be in Svelte.",
    ),
    (
        "You can edit the save game format freely.",
        "Please stop editing the save game format, players have it now.",
    ),
    (
        "Bitte schreib die Kommentare auf Deutsch.",
        "Ab jetzt bitte die Kommentare auf Englisch.",
    ),
    (
        "We have to get the thermostat firmware onto Zephyr.",
        "Scrap Zephyr, we are taking the thermostat firmware to FreeRTOS.",
    ),
]
