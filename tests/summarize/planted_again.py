"""A second set that was held out: written without sight of the rules, after `planted.HELD_OUT` had been used.

docs/summaries.md has the figures of its first run. The rules were widened after it.
"""

from __future__ import annotations

AGAIN: dict[str, list[str]] = {
    "rule": [
        "whatever you do, keep your hands off the bootloader partition",
        "Anything that goes into the ledger has to have a matching receipt, no exceptions.",
        "Could you please run every schema change past me first before applying it?",
        "Stick to the standard library for the whole firmware tool.",
        "We're under NDA, so the studio's name can't show up anywhere in the repo.",
        "just fyi, interns have read access to this wiki so keep salary figures out of it",
        "Each time you add an endpoint, add it to the OpenAPI file as well.",
        "Quotes from the interviews must be reproduced word for word.",
        "Raw files in the landing zone are immutable, write your output to a separate prefix.",
        "I'd ask you not to restart the game server while players are online.",
        "Bitte nichts an der Datei settings.prod.yml ändern, ohne vorher zu fragen.",
        "Il ne faut surtout pas modifier les écritures déjà validées par le comptable.",
    ],
    "limit": [
        "we only have 64k of flash on this chip so the code has to fit in there",
        "The grant application closes on 30 September at noon.",
        "Frame time can't go over 16 ms on the old consoles.",
        "Try to keep each chapter somewhere between 2,500 and 3,000 words.",
        "The customer's firewall drops any connection that's idle for more than 90 seconds.",
        "Please don't open more than 8 connections to the replica at once.",
        "Rounding differences up to 5 cents are ok, anything above needs an explanation.",
        "I can give this about two hours today, then I have to leave.",
        "Backups have to be kept for a minimum of ten years.",
        "disk on the worker is tiny, 5 gigs max for temp files",
        "Das Ganze muss bis spätestens Ende März fertig sein.",
        "El presupuesto para anuncios no puede pasar de 1.500 euros al mes.",
    ],
    "goal": [
        "I've been asked to bring our Django monolith up to version 5 and I'd like your help with it.",
        "so basically i want to make a roguelike where the dungeon changes every time you die",
        "We need to end up with one reconciled list of vendors across all three subsidiaries.",
        "What I'm after is a thermostat that keeps working when the wifi is down.",
        "By the time we're finished, the clickstream should land in BigQuery instead of Redshift.",
        "I'd like to write a grant proposal for our community garden with you.",
        "The idea is to let restaurant owners change their menus themselves.",
        "Can you help me get this research code into a state where others can install it?",
        "Our on-call people are drowning in alerts and I want that to stop.",
        "looking to split the user service out of the monolith, that's the project",
        "Ich möchte am Ende eine App haben, mit der unser Verein die Beiträge verwalten kann.",
        "L'objectif est de publier le jeu sur Steam avec un mode deux joueurs.",
    ],
    "preference": [
        "If it's all the same to you, I'd go for early returns instead of deep nesting.",
        "pls no walls of text, i read this on my phone",
        "I'm more comfortable with pandas than with polars.",
        "When there are several ways to do it, show me two or three and let me pick.",
        "Go easy on the jargon, I come from accounting and not from IT.",
        "Would you mind putting the conclusion at the top of each answer?",
        "I'm a fan of type hints, the more the better.",
        "Honest criticism is worth more to me than praise when you review my drafts.",
        "small commits please, one idea per commit",
        "Amounts are easier for me to read with thousands separators.",
        "Mir wäre es lieber, wenn du mich duzt und kurze Sätze schreibst.",
        "Prefiero que los comentarios del código estén en español.",
    ],
    "fact": [
        "We're on Postgres 13.8, hosted at db-main.fra1.internal.example.",
        "the board shows up as /dev/ttyUSB3 at 115200 baud",
        "Cost centre for all of this is 4410-07.",
        "Our Steam app id would be 2817450 by the way.",
        "My editor at the publisher is Helen Marsh, h.marsh@press.example.",
        "Der Kunde läuft bei uns unter der Nummer K-20817.",
    ],
    "state": [
        "ok the backfill for January and February is in, March keeps failing",
        "I finished the VAT part yesterday but haven't started on payroll.",
        "Right now we're stuck because the I2C bus hangs after a reset.",
        "The first level is playable, enemies don't have any AI yet.",
        "About 60 of the 200 hosts are on the new kernel by now.",
        "Pour l'instant j'ai traduit les deux premiers chapitres, il en reste cinq.",
    ],
}

CHANGES_AGAIN: list[tuple[str, str]] = [
    (
        "Please keep your hands off the bootloader partition.",
        "I talked to hardware, you can write to the bootloader partition after all.",
    ),
    (
        "Open no more than 8 connections to the replica.",
        "The replica got an upgrade, so 20 connections to it are fine.",
    ),
    (
        "The grant application closes on 30 September.",
        "They extended it, the grant application now closes on 15 October.",
    ),
    (
        "each chapter should be around 2,500 words.",
        "hmm let's go with around 4,000 words for each chapter.",
    ),
    (
        "I'd like the code comments in Spanish.",
        "On second thought, put the code comments in English.",
    ),
    (
        "Run every schema change past me first.",
        "No need to run schema changes past me anymore, just apply them.",
    ),
    (
        "We're going to load the clickstream into BigQuery.",
        "Management decided on Snowflake, so the clickstream goes there rather than to BigQuery.",
    ),
    (
        "You can restart the game server whenever you like.",
        "Please stop restarting the game server, players are complaining.",
    ),
    (
        "Show me two or three options before you code.",
        "Don't bother with several options any longer, just pick the best one and code it.",
    ),
    (
        "Bitte schreib die Berichte in der Sie-Form.",
        "Die Berichte doch lieber in der Du-Form schreiben.",
    ),
]
