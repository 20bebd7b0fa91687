/** German. See SynonymLists. */
export const GROUPS = `
buchen, buchung, reservieren, reservierung, vorbestellen, termin, terminvereinbarung, vereinbaren, termin machen, anmelden
ohne termin, einfach vorbeikommen, vorbeikommen, spontan, ohne anmeldung, ohne voranmeldung, ohne reservierung
stornieren, stornierung, absagen, absage, storno, rücktritt, zurücktreten, abbestellen
verschieben, umbuchen, verlegen, anderer termin, anderen termin, neuen termin, ändern
geld zurück, erstatten, erstattung, rückerstattung, erstattet, rückzahlung, zurückzahlen, zurückbekommen, rückgeld, geld wieder
anzahlung, vorauszahlung, im voraus, vorab bezahlen, vorkasse
kaution, pfand, sicherheitsleistung
zu spät, verspätung, verspäten, verspäte, später kommen, unpünktlich
später, danach, nachher, nach dieser frist
verpassen, verpasst, verpasse, versäumen, versäumt, versäumte, nicht erscheinen, nicht komme, nicht kommen
rabatt, ermäßigung, ermäßigt, # percent auf, # prozent auf, nachlass, preisnachlass, vergünstigung, günstiger, billiger, weniger zahlen, sonderpreis, halber preis, sparen, gutschein code, # percent weniger, prozent weniger
kostenlos, gratis, ohne berechnung, entfällt, umsonst, kostenfrei, frei, ohne aufpreis, gebührenfrei, kostet nichts, unentgeltlich
inklusive, inbegriffen, enthalten, dabei, im preis, mit drin, drin, eingeschlossen
aufpreis, zuschlag, extra, zusätzlich, zusatzkosten, mehrpreis, hinzu, obendrauf
parken, parkplatz, parkplätze, parkhaus, tiefgarage, auto abstellen, abstellen, auto lassen, stellplatz, parke, auto stellen, mit dem auto, parkmöglichkeit, parkmöglichkeiten, autos
auto, pkw, wagen, fahrzeug
abholen, abgeholt, abholung, holen, abholservice
abgeben, abgabe, vorbeibringen
liefern, lieferung, versand, versenden, verschicken, schicken, zustellen, geliefert, lieferzeit, versandkosten, porto, lieferservice, nach hause, ins haus, ausliefern
paket, sendung, päckchen
phonenumber, kontakt, erreichen, erreichbar, anrufen, telefon, telefonisch, telefonnummer, nummer, rufnummer, kontaktieren, rufen, sprechen
mail, e mail, schreiben, nachricht, mailadresse
bescheid, benachrichtigen, benachrichtigt, informieren
trinkgeld
kind, kinder, unter # jahren, bis # jahre, kleinkind, kleinkinder, sohn, tochter, kleine, minderjährige, nachwuchs
baby, säugling, babys
jugendliche, teenager, jugend
senioren, rentner, ältere, rente
erwachsene, erwachsener
student, studenten, studierende, studi, studis, studentin, uni, hochschule
herren, männer, mann
damen, frauen, frau
familie, familien, eltern
geschwister, bruder, schwester
begleitung, begleitperson, mitbringen, freund, freundin
gruppe, gruppen, mehrere personen
friseur, haarschnitt, haare schneiden, schnitt
färben, farbe, tönung, strähnen
passwort, kennwort, code, pin, zugangscode
verloren, verlegt, verlieren, vergessen, fundsachen, fundbüro, liegen gelassen
gebraucht, gebrauchte, second hand, secondhand, aus zweiter hand
garantie, gewährleistung
kostenvoranschlag, angebot, schätzung, preisauskunft
unzufrieden, nicht zufrieden, nicht klarkomme, nicht zurecht, reklamation, beschwerde, reklamieren, gefällt nicht, beschweren, nicht gefällt
kaputt, kaputte, defekt, beschädigt, schaden, gebrochen, abgebrochen, zerbrochen, funktioniert nicht, geht nicht, schäden, kaputtgegangen, kaputt gegangen, zu bruch, bruch
reparieren, reparatur, instandsetzen, richten
ersetzen, ersatz, austauschen, wechseln, tauschen, austausch
rollstuhl, barrierefrei, behindert, behinderung, rollstuhlgerecht, stufenlos, ebenerdig, gehbehindert
aufzug, lift, fahrstuhl
treppe, stufen, treppen
toilette, wc, klo, toiletten
dusche, duschen
umkleide, umziehen, umkleiden, umkleidekabine
schließfach, schließfächer, spind, wertsachen
gepäck, koffer, taschen, rucksack
aufbewahren, lagern, unterstellen, dalassen, aufheben, lassen, aufbewahrung, deponieren, einlagern, lager, einlagerung, lagerung, zwischenlagern
wlan, wifi, internet, wi fi
mieten, vermieten, leihen, ausleihen, verleihen, verleih, vermietung, miete, ausborgen, leihweise
kaufen, verkaufen, verkauf, erwerben
gutschein, gutscheine, geschenkgutschein, geschenkkarte
geschenk, verschenken, geschenke, einpacken
gültig, gilt, gültigkeit, läuft ab, verfällt
karte, kreditkarte, ec karte, girocard, visa, mastercard, kartenzahlung, nur bargeld, nur bar
bar, barzahlung, bargeld, bar zahlen, in bar, nur karte, nur kartenzahlung, bargeldlos
überweisung, überweisen, lastschrift, bankeinzug
rechnung, quittung, beleg
raten, ratenzahlung, abbezahlen, monatlich zahlen, rate
zahlungsarten, bezahlen, zahlen, zahlung, akzeptieren, bezahlt
fahrrad, fahrräder, rad, räder, velo, bike
boot, boote, ruderboot, kahn
anfänger, einsteiger, vorkenntnisse, erfahrung, neuling, zum ersten mal, noch nie, vorwissen, neu anfangen
fortgeschrittene, fortgeschritten, profi
probe, probestunde, schnuppern, schnupperstunde, probieren, ausprobieren, testen, probetraining, kostenlos testen
kurs, kurse, unterricht, lehrgang, seminar, schulung, workshop
ferienkurs, crashkurs, intensivkurs, kompaktkurs, schnellkurs
lehrer, lehrerin, trainer, trainerin, kursleiter, dozent, unterrichtet
anmelden, anmeldung, einschreiben, registrieren, registrierung
mitglied, mitgliedschaft, abo, abonnement
kündigen, kündigung, kündigungsfrist, austreten, kündige, vertrag beenden, ausziehen
vorher, im voraus, vorab, frist, rechtzeitig
mitbringen, mitnehmen, dabeihaben, bringen, brauche, unterlagen, benötigt
anziehen, kleidung, tragen, bekleidung, kleider
ausrüstung, material, werkzeug, zubehör
bademantel, bademäntel, handtuch, handtücher
rauchen, geraucht, raucher, zigaretten
alkohol, bier, wein
essen, speisen, mahlzeit, gerichte, verpflegung, imbiss
frühstück, frühstücken, frühstücksbuffet
trinken, getränk, getränke
vegetarisch, fleischlos, vegetarier
vegan, pflanzlich
glutenfrei, ohne gluten, zöliakie
laktosefrei, ohne laktose
allergie, allergien, unverträglichkeit, nüsse, nussallergie, allergene, allergisch
mitnehmen, zum mitnehmen, take away, to go
haustier, haustiere, tiere
laut, lärm, ruhig, leise
draußen, im freien, außen, terrasse, garten, open air
drinnen, innen
pool, schwimmbad, schwimmbecken, hallenbad, schwimmen
fitnessraum, fitness, fitnessstudio
heizung, beheizt
klimaanlage, klimatisiert
flughafen, flug
bahnhof, zug, bahn, s bahn
bus, buslinie, buslinien, bushaltestelle, haltestelle
öffentliche verkehrsmittel, öffis, nahverkehr, mit dem bus, mit der bahn
adresse, anschrift, straße, wo, finden, findest, liegt, standort, lage, hinkommen, anfahrt, seid ihr, sind sie, gasse, platz, sitz, sitzt, zu euch, zu ihnen, hof
nähe, nah, nächste, neben, nebenan
weit, entfernung, entfernt, zu fuß, gehminuten
inhaber, inhaberin, besitzer, besitzerin, chef, chefin, gehört, gegründet, betreibt, leitet, geführt
mitarbeiter, personal, team, angestellte
job, stelle, stellen, ausbildungsplatz, bewerben, bewerbung, praktikum, karriere
versicherung, versichert, haftpflicht, schadensfall
unterlagen, papiere, dokumente, ausweis, personalausweis, pass
führerschein, fahrerlaubnis, lappen
sprache, sprachen, sprechen, spricht
rückgabe, zurückgeben, zurückschicken, zurücksenden, retoure, rücksendung, zurückbringen
umtausch, umtauschen, andere größe
größe, größen
handgemacht, hausgemacht, selbst gemacht, selbstgemacht, hergestellt, eigene herstellung
zutaten, enthält, inhaltsstoffe
bio, biologisch, ökologisch, natürlich
entsorgen, recyceln, wegwerfen, entsorgung
warten, wartezeit, schlange
fertig, bereit, abholbereit, bezugsfertig
eilig, express, schnell, dringend, notfall, sofort, kurzfristig
notfall, notdienst, notruf
schmerzen, weh, zahnschmerzen
regen, wetter, regnet, schlechtes wetter, schlechtwetter, sturm
schwimmen, baden, badestrand
mindestalter, wie alt, ab # jahren, ab welchem alter, altersgrenze, alter, unter # jahren, jahre alt, ab #
allein, alleine, ohne begleitung, ohne eltern, selbstständig
in begleitung, begleitet, begleitete, aufsicht
platz haben, plätze, personenzahl, kapazität, passen, fasst, wie viele personen, höchstens, maximal
zimmer, unterkunft, schlafzimmer
bett, betten, kinderbett, babybett, gitterbett
bettwäsche, laken, bettzeug
reinigen, putzen, sauber machen, waschen, gewaschen, reinigung
einchecken, check in, anreise, ankommen, ankunft, anreisen, bezugsfertig
auschecken, check out, abreise, abreisen, abfahren, zimmer räumen, räumen, zimmer verlassen
übernachten, schlafen, übernachtung, nacht
zelten, camping, zelt, wohnmobil, wohnwagen
führung, führungen, rundgang, tour
ticket, eintritt, eintrittskarte, karten, eintrittspreis
foto, fotografieren, fotos, bilder, filmen
ferien, urlaub, betriebsferien, betriebsurlaub, sommerpause
geschlossen, zu haben, ruhetag, schließen, nicht besetzt, schließtage
abend, abends
wochenende, samstag, sonntag
feier, fest, geburtstag, hochzeit, feiern, veranstaltung, party
heiraten, hochzeit, trauung, brautpaar
konto, einloggen, anmelden, zugang, login, benutzerkonto
nutzer, benutzer, kollegen, teammitglieder, personen
tarif, paket, plan, abo
testphase, testversion, probezeit, testzeitraum
exportieren, export, herunterladen, download
importieren, import, hochladen, übernehmen
datenschutz, dsgvo, personenbezogene daten, daten
verschlüsselt, verschlüsselung, sicher, sicherheit
server, gehostet, gespeichert
support, hilfe, kundendienst, kundenservice
app, handy, smartphone, iphone, android
schnittstelle, integration, verbinden, api
löschen, entfernen
erinnerung, erinnern
höchstens, maximal, bis zu, maximum, obergrenze, längstens
mindestens, minimum, wenigstens, mindestdauer
preis, kosten, gebühr, kostet, tarif, preise
monatlich, pro monat, im monat
jährlich, pro jahr, im jahr
anzug, kostüm
kleid, abendkleid
jacke, mantel, sakko
hose, jeans
reißverschluss
kürzen, ändern, änderung, saum
fleck, flecken
bügeln, gebügelt
leder, wildleder
reifen, platten, plattfuß
bremse, bremsen
bildschirm, display, scheibe
laden, aufladen, ladestation, ladesäule, ladesäulen, ladepunkt, wallbox
e auto, elektroauto, elektroautos, elektrofahrzeug, stromer
motorrad, roller, moped
lkw, laster, lastwagen, transporter, sprinter
automatik, schaltgetriebe, schaltung, gangschaltung
arzt, ärztin, tierarzt, zahnarzt
geimpft, impfung, impfpass
prüfung, test, examen, zertifikat
durchfallen, durchfalle, nicht bestehen, nicht bestanden, durchgefallen, fällt
wiederholen, nachholen, noch einmal, wiederholung
krank, krankheit, attest
schwanger, schwangerschaft
massage, behandlung
kinderbetreuung, spielplatz, spielecke
hochstuhl, kinderstuhl
wickeltisch, wickelraum
blumen, strauß, blumenstrauß
kuchen, torte
kaffee, espresso
brot, brötchen, semmel
speisekarte, karte, menü, gerichte
tisch, tische
musik, live musik, band
schlüssel
strafe, strafgebühr, berechnen, in rechnung
ausgebucht, voll, frei, verfügbar
bestellung, bestellen, bestellt
mindestbestellwert, mindestbestellung
ausland, international, ins ausland, andere länder
firma, unternehmen, betrieb, geschäftlich
schulklasse, klasse, klassenfahrt
verein, vereine
hausbesuch, nach hause, zu hause, daheim, zuhause, besuchen, besucht, zu mir
treffpunkt, treffen
teilnehmen, mitmachen, teilnahme, teilnehmer, dabei sein
krankenkasse, krankenkassen, kasse, zuschuss, krankenversicherung
offen, geöffnet, öffnen, öffnet, öffnungszeiten, öffnung
zugang, reinkommen, hineinkommen, eintreten, türcode
sachen, dinge, gegenstände, habseligkeiten
pflicht, verpflichtend, notwendig, obligatorisch, erforderlich, nötig
kamera, kameras, videoüberwachung, überwachung
doppelzimmer, zu zweit, zweibettzimmer
einzelzimmer, einbettzimmer
grillen, grill, grillplatz
linsen, kontaktlinsen
ehepartner, frau, mann, paar, paare, partner
pausieren, aussetzen, ruhen lassen, einfrieren, pause, unterbrechen, unterbrechung
azubi, azubis, ausbildung, lehrling, bilden
spende, spenden, altgeräte
beginnen, beginnt, beginn, starten, startet, losgehen, los, anfang
geschirr, teller, besteck, gläser
untersuchung, beratung, sprechstunde, untersuchen
sofort, gleich, direkt, unmittelbar
operation, eingriff
partner, tanzpartner, mitspieler
gäste, personenzahl, gästezahl
bedienung, kellner, servicekräfte
jede woche, pro woche, in der woche
feiertag, feiertage, feiertagen
weihnachten, heiligabend, weihnachtstag, weihnachtstage, weihnachtsfeiertage
ostern, ostermontag, karfreitag, osterfeiertage
silvester, neujahr, jahreswechsel
film, kinofilm, vorstellung
umzug, umziehen, übersiedlung
karton, kartons, umzugskarton, kisten, schachtel
nachbar, nicht da, nicht zu hause, niemand da, niemanden antreffen, nicht daheim
picknick, eigenes essen, selbst mitgebracht, mitgebrachte, eigene speisen, eigene getränke
kühlschrank, gefrierschrank
fernseher, tv
leine, angeleint
postleitzahl, plz
aufbauen, aufbau, montieren, montage, abbauen, abbau, installieren
gemüse, obst, früchte
rund um die uhr, nachts, jederzeit, automat
küche, kochen, selbstversorger
waschmaschine, wäsche waschen, wäsche
wandern, spazieren, spaziergang
treuekarte, stempelkarte, bonuskarte, punkte
junggesellenabschied, junggesellinnenabschied
betriebsausflug, teamevent, firmenfeier, firmenevent, betriebsfeier
kindergeburtstag, kindergeburtstage, geburtstagsfeier
mindestlaufzeit, laufzeit, vertragslaufzeit, vertragsdauer, gebunden
anfahrtskosten, anfahrtspauschale, fahrtkosten
angebot, offerte, kostenvoranschlag
besichtigung, besichtigen, anschauen, ansehen
sonnenschirm, liegestuhl, liegen
gefäße, behälter, eigene dosen
füttern, futter
pflücken, selbst pflücken, ernten
chip, mikrochip, chippen
`;

export const KINDS = `
haustiere, tiere, haustier: hund, hunde, katze, katzen, welpe
karte: visa, mastercard, girocard
fahrzeug, fahrzeuge: auto, motorrad, lkw, wohnmobil
unterlagen, dokumente: ausweis, pass, führerschein, nachweis, passfoto
kinder: kleinkind, baby, jugendliche
getränke: wein, bier, kaffee, tee, saft
feiertage, feiertag, feiertagen: weihnachten, heiligabend, ostern, karfreitag, pfingsten, neujahr, silvester, allerheiligen
sommer, hauptsaison: juni, juli, august
winter: dezember, januar, februar
auto: golf, vw, bmw, audi, opel
sprache, sprachen: englisch, deutsch, französisch, spanisch, italienisch
essen: pizza, kuchen, brot, snacks
möbel: schrank, sofa, bett, tisch, couch
`;
