/** Italian. See SynonymLists. */
export const GROUPS = `
prenotare, prenotazione, prenotazioni, appuntamento, fissare, prendere appuntamento, riservare, riservate, riservo, si prenota
senza appuntamento, senza prenotare, senza prenotazione, basta passare, passare direttamente, presentarsi
annullare, annullamento, disdire, disdetta, cancellare, cancellazione, annullo, disdico
spostare, rimandare, cambiare data, altra data, posticipare, cambiare la data
rimborso, rimborsare, restituire, soldi indietro, ridare, ridate i soldi, restituiamo, resa, rendere, ridare i soldi
acconto, anticipo, in anticipo, pagamento anticipato, versare, caparra
cauzione, caparra, deposito cauzionale
ritardo, in ritardo, arrivare tardi, fate tardi, faccio tardi, arriviamo dopo, arrivo dopo
più tardi, dopo, poi, oltre questo termine
perdere, saltare, assente, assenza, non presentarsi, mancare, perso
sconto, riduzione, # percent in meno, # percent di sconto, ridotto, tariffa ridotta, promozione, offerta, metà prezzo, la metà, agevolazione, prezzo speciale, # di sconto, più economico
gratis, gratuito, gratuita, libero, senza costi, non costa nulla, senza supplemento, omaggio, non si paga, gratuitamente
incluso, compreso, compresa, inclusa, compresi, incluse, comprende, nel prezzo, include
supplemento, extra, in più, aggiunta, sovrapprezzo, a parte
parcheggio, parcheggiare, lasciare auto, lasciare macchina, posto auto, posti auto, parcheggi, garage, in macchina, in auto, auto si lasciano, macchine, lasciare la macchina
auto, macchina, automobile, vettura, veicolo
ritirare, ritiro, venire a prendere, recuperare
consegnare, portare, lasciare, consegna
spedire, spedizione, spedizioni, consegna, consegne, inviare, spese di spedizione, a domicilio, recapitare
pacco, pacchi
phonenumber, contattare, contatto, chiamare, telefono, telefonare, numero, telefonico, raggiungere, chiamo, chiami, sentire
mail, e mail, email, scrivere, messaggio, posta elettronica
avvisare, informare, preavviso, avviso, comunicare
mancia
bambino, bambini, sotto i # anni, fino a # anni, bambina, figlio, figlia, piccoli, minore, minori, ragazzini, bimbo, bimbi, ragazzino, piccolo, nipotino
neonato, bebè, neonati
ragazzo, ragazzi, adolescente, giovani
anziano, pensionato, anziani, pensionati, terza età, over 65
adulto, adulti
studente, studenti, alunno, alunni
uomo, uomini, maschile
donna, donne, signora, femminile
famiglia, genitori, famiglie
accompagnatore, amico, accompagnare, accompagnato
gruppo, gruppi, comitiva
taglio, tagliare, parrucchiere
tinta, colore, mèches
password, codice, pin
perso, smarrito, dimenticato, oggetti smarriti, smarrimento
usato, seconda mano, ricondizionato, usati
garanzia, garantito, garantita
preventivo, stima
insoddisfatto, non soddisfatto, reclamo, lamentela, non mi piace, reclami
rotto, guasto, danneggiato, difettoso, rotta, danni, danno, non funziona, graffio, ammaccatura
riparare, riparazione, riparazioni, aggiustare, sistemare, sistemate, lavori, lavoro
carrozzeria, graffio, portiera, ammaccatura
sostituire, sostituzione, cambiare, cambio, ricambio
sedia a rotelle, accessibile, disabile, disabili, accessibilità, senza barriere, carrozzina, mobilità ridotta, rampa, non cammina, camminare, passerella, passerelle
ascensore, montacarichi
scale, gradini, scalini
bagno, toilette, servizi igienici, wc, bagni
doccia, docce
spogliatoio, spogliatoi, cambiarsi, camerino
armadietto, armadietti, oggetti di valore, cassaforte
bagaglio, bagagli, valigia, valigie, zaino, borse
custodire, conservare, tenere, deposito, depositare, custodiamo, conserviamo, tenete, lasciare
wifi, wi fi, internet, connessione, senza fili
noleggiare, noleggio, affittare, affitto, prestare, prestito, noleggiano, affittate
comprare, acquistare, vendere, vendita, acquisto
regalo, regalare
buono regalo, carta regalo, gift card, buono, buoni
valido, scade, validità, scadenza, vale
carta, carta di credito, bancomat, visa, mastercard, carte, solo contanti
contanti, contante, in contanti, solo carte, solo con carta
bonifico, addebito
fattura, ricevuta, scontrino
rate, rateizzare, a rate, finanziamento, dilazionare
pagare, pagamento, saldo, metodi di pagamento, accettare, versato, paga, saldare
bici, bicicletta, biciclette
barca, barche
principiante, principianti, esperienza, prima volta, da zero, conoscenze, livello base
avanzato, esperto
prova, provare, lezione di prova, demo
corso, lezione, corsi, lezioni, laboratorio, seduta
insegnante, istruttore, maestro, docente
iscriversi, iscrizione, registrarsi, iscrizioni, iscrivere
socio, abbonamento, tessera, iscritto
recesso, disdire abbonamento, recedere
portare, portarsi, serve portare, bisogna portare
vestiti, abbigliamento, indossare, vestirsi
attrezzatura, materiale, attrezzi
asciugamano, asciugamani
fumare, fumatori, sigarette
alcol, birra, vino
mangiare, cibo, pasto
colazione
bevanda, bere, bevande
vegetariano, vegetariani, vegetariana, senza carne, mangiate carne, mangio carne
vegano, vegani, vegana
senza glutine, celiaco, celiaci, celiaca
senza lattosio, lattosio
allergia, allergie, allergico, intolleranza, allergeni
asporto, da asporto, portare via, da portare via
animale, animali, animali domestici
rumore, silenzio, tranquillo
fuori, esterno, all'aperto, aperto, terrazza, giardino
dentro, interno, al chiuso
piscina, nuotare
palestra, fitness
riscaldamento, riscaldato
aria condizionata, condizionatore, climatizzatore, clima
aeroporto, volo
stazione, treno, ferrovia
autobus, bus, fermata, corriera
mezzi pubblici, metro, tram
indirizzo, via, piazza, dove, trovate, trova, trovo, si trova, siamo in, raggiungere, strada, viale, arrivare, di preciso, laboratorio si trova, sede, ubicati
vicino, accanto, nei pressi
lontano, distanza, a piedi, dista, lontana
proprietario, titolare, capo, fondatore, fondato, gestisce
personale, squadra, dipendenti
lavoro, assumere, assumete, lavorare con voi, curriculum, candidatura
assicurazione, assicurato, responsabilità
documenti, documento, carta d'identità, passaporto, documento d'identità
patente, licenza
lingua, lingue, parlare, parlate
reso, restituire, rimandare indietro, resi
taglia, taglie, misura
fatto in casa, artigianale, fatto a mano, casa
ingredienti, contiene
biologico, bio, ecologico
buttare, riciclare, smaltire
attesa, aspettare, coda
pronto, pronta, finito
urgente, urgenza, espresso, veloce, stesso giorno, emergenza, entro domani, per domani, in giornata, in 24 ore, fretta
emergenza, soccorso, soccorso stradale, rimasto a piedi, guasto, carro attrezzi, ore su
dolore, male, fa male
pioggia, piove, maltempo, brutto tempo
nuotare, nuoto, bagno
età minima, quanti anni, dai # anni, a partire da # anni, sotto i # anni, ha # anni, fino a # anni
solo, soli, sola, senza accompagnatore, senza adulto
capienza, posti, quante persone, ci stanno, posti a sedere, massimo di persone, capacità
camera, stanza, camere, alloggio
letto, letti
culla, lettino, lettino da campeggio
lenzuola, biancheria
pulire, pulizia, pulizie, lavare, lavaggio, pulizie finali
check in, arrivo, arrivare, ingresso in camera, entrare in camera
check out, partenza, partire, lasciare la camera
dormire, notte, pernottare, pernottamento
campeggio, tenda, camper, roulotte
visita guidata, guida, visita, visitare, vedere, visite
biglietto, ingresso, biglietti, entrata
foto, fotografie, fotografare, fotografia
ferie, vacanza, vacanze, chiuso per ferie, chiusura estiva
chiuso, chiusura, chiudere, chiudete, chiusa, chiusi
fuori orario, prima dell'apertura, dopo la chiusura
sera, serale, serata
fine settimana, sabato, domenica
festa, compleanno, matrimonio, evento, festeggiare, feste
matrimonio, sposi, nozze, sposarsi
decorazioni, addobbare, addobbi, decorare, allestire
stoviglie, piatti, posate, bicchieri
tovaglie, tovagliato
account, accedere, accesso
utente, utenti, colleghi
piano, tariffa, abbonamento
esportare, scaricare
importare, caricare
dati, gdpr, privacy, protezione dei dati
crittografia, sicuro, sicurezza
aiuto, assistenza, supporto, servizio clienti
app, applicazione, cellulare, iphone, android
eliminare, cancellare
promemoria, ricordare
massimo, al massimo, fino a, limite
minimo, almeno
prezzo, costo, tariffa, costa, viene
al mese, mensile
all'anno, annuale
abito, completo, vestito, costume
giacca, cappotto, giubbotto
pantaloni, jeans
cerniera, zip, lampo
accorciare, orlo, modifica
macchia, macchie
stirare, stiratura
pelle, cuoio, camoscio
gomma, gomme, pneumatico, pneumatici, ruota
freno, freni
olio, cambio olio
batteria, batterie
schermo, display, vetro
ricarica, ricaricare, colonnina, caricare, ricaricarla
auto elettrica, veicolo elettrico, elettriche
moto, motorino, scooter, motorini, motociclo
auto sostitutiva, macchina sostitutiva, macchina mentre, auto di cortesia
medico, dottore, veterinario, dentista
vaccinato, vaccino, vaccinazione
esame, prova, certificato
malato, malattia
incinta, gravidanza
massaggio, trattamento
giochi, area giochi, parco giochi
seggiolone, seggioloni
fasciatoio
fiori, mazzo, bouquet
torta, dolce
caffè, espresso
pane, panino
menù, menu, carta, piatti
tavolo, tavoli
musica, musica dal vivo, concerto
chiave, chiavi
multa, penale
completo, disponibile, disponibilità
ordine, ordinare, ordini
ordine minimo
estero, internazionale, altri paesi
azienda, aziende, ditta
scolaresca, classe, gita scolastica
associazione, associazioni, circolo
casa, domicilio, a casa
punto di incontro, ritrovo
partecipare, partecipanti
tagliando, manutenzione, revisione
pomeriggio, mezza giornata, mattina
giorno, giornata, giornata intera, tutto il giorno
accesso, entrare, codice
obbligatorio, obbligatoria, necessario
barbecue, griglia, grigliata
camera doppia, doppia, matrimoniale, camera matrimoniale
camera singola, singola
telecamera, telecamere, videosorveglianza
aperto, aperta, aperti, apre, apriamo, aprite, apertura
cenare, cena, a tavola
coppia, marito, moglie
sospendere, congelare
lampadina, lampadine
cominciare, comincia, iniziare, inizia, inizio, partire
consulto, visita medica, visita di controllo
subito, immediatamente
operazione, intervento chirurgico
invitati, numero di persone, ospiti
modificare, cambiare, modifica
cameriere, camerieri
festivo, festivi, giorni festivi, festività, giorno festivo
natale, vigilia, santo stefano
pasqua, pasquetta
capodanno, san silvestro, primo dell'anno
ferragosto
film, proiezione, spettacolo
vicino di casa, non sono in casa, nessuno in casa, assenti
panino, panini, pranzo al sacco, proprio pranzo, cibo da casa, portare da mangiare, picnic
frigo, frigorifero, cucina, cucinare
televisione, tv, tele
guinzaglio, al guinzaglio
codice postale, cap
montare, montaggio, installare, installazione, smontare
verdura, verdure, frutta
stampare, stampa, fotocopie, copie
camminata, escursione, passeggiata, trekking
tessera fedeltà, fedeltà, punti
addio al nubilato, addio al celibato
team building, evento aziendale, aziende, colleghi
festa di compleanno, compleanno
ombrellone, lettino, sdraio, lettini, ombrelloni
strappo, buco, rammendo, rammendare, strappato, bucato
orlo, accorciare, stringere, allargare, restringere
maglione, maglia, pullover
bagnino, salvataggio, sorveglianza
trasferta, spese di trasferta
costume, costumi
microchip, chip
proprietari, titolari, proprietario, titolare
vestito, vestiti, abiti, abito, capi, capo
`;

export const KINDS = `
animali, animale: cane, gatto, cani, gatti, cucciolo
carta: visa, mastercard
veicolo, veicoli: auto, moto, furgone
documenti, documento: passaporto, patente
bambini: neonato, ragazzi
bevande: vino, birra, caffè, tè, acqua
estate: giugno, luglio, agosto
inverno: dicembre, gennaio, febbraio
gomme, pneumatici, gomme stagionale: gomme invernali, gomme estive
pasti: colazione, pranzo, cena
lingua, lingue: inglese, tedesco, francese, spagnolo, italiano
festivi, festivo, giorni festivi, festività: natale, santo stefano, pasqua, pasquetta, capodanno, ferragosto
cibo: pizza, panino, panini
`;
