/** Words that mean the same in questions to a business, with their frequent forms. */
const SYNONYMS = `
kid kids child children
delivery deliver delivered shipping ship ships postage
rent rental hire hired
bike bikes bicycle bicycles
luggage baggage bags suitcase suitcases
lift elevator
wifi wlan internet
booking book booked reservation reserve
toilet toilets restroom bathroom
car cars vehicle
discount discounts reduction reduced
color colors colour colours
licence license
repair repairs fix mend
parking park
bus buses
trial try
email mail e-mail courriel
phone telephone call number
where address located street road lane near find
miss missed
broken damaged defective faulty
voucher vouchers
return returns returned
lieferung liefern geliefert liefert lieferzeit versand versenden verschicken verschickt
fahrrad fahrräder rad räder velo
mieten miete leihen ausleihen verleih vermietung
aufzug lift fahrstuhl
gepäck koffer
reservieren reservierung buchen buchung
stornieren stornierung absagen absage
student studenten studierende
rabatt ermäßigung nachlass
auto pkw wagen
zurückgeben zurücksenden zurückschicken rückgabe rücksendung retoure umtauschen
reparieren reparatur reparaturen
kaputt defekt beschädigt
bar barzahlung bargeld
zurücktreten rücktritt
kündigen kündige kündigung
anmelden anmeldung
verpassen verpasse verpasst versäumen versäumte versäumt
telefon telefonnummer anrufen nummer telefonisch
wo adresse straße finden findest
parken parke parkplatz parkplätze parkhaus
bus buslinie buslinien bushaltestelle
livraison livrer livrez expédition expédier envoi
vélo vélos bicyclette bicyclettes
louer location
bagage bagages valise valises
réserver réservation réservations
annuler annulation
réduction réductions remise rabais
voiture voitures auto
renvoyer retourner retour retours
réparer réparation réparations
téléphone numéro appeler
où adresse rue trouver trouvez trouve
manquer manqué manquée
garer stationner stationnement parking
envío envíos enviar entrega entregas
bici bicis bicicleta bicicletas
alquilar alquiler alquilan
equipaje maleta maletas
reservar reserva
cancelar anular
descuento descuentos rebaja
devolver devolución devoluciones
reparar reparación
teléfono número llamar
dónde dirección calle encuentra
aparcar aparcamiento parking estacionar
spedizione spedizioni spedire consegna consegne
bici biciclette bicicletta
noleggiare noleggio affittare affitto
bagaglio bagagli valigia valigie
prenotare prenotazione prenotazioni
annullare disdire
sconto sconti riduzione riduzioni ridotto
restituire reso resi
foto fotografie fotografare
telefono numero chiamare
dove indirizzo via piazza trovate trova
parcheggiare parcheggio parcheggi
`;

/** Each line has a word for a kind of thing, and things of that kind: dogs are pets, but cats are not dogs. */
const KINDS = `
pets: dog dogs cat cats puppy
animals: dog dogs cat cats pet pets
haustiere: hund hunde katze katzen
tiere: hund hunde katze katzen haustier haustiere
animaux: chien chiens chat chats
mascotas: perro perros gato gatos
animales: perro perros mascota mascotas
animali: cane cani gatto gatti
`;

const RELATED = new Map<string, Set<string>>();
for (const line of SYNONYMS.trim().split("\n")) {
  const words = line.split(" ");
  for (const word of words) relate(word, words);
}
for (const line of KINDS.trim().split("\n")) {
  const [kind = "", things = ""] = line.split(": ");
  for (const thing of things.split(" ")) {
    relate(thing, [kind]);
    relate(kind, [thing]);
  }
}

function relate(word: string, others: readonly string[]): void {
  const related = RELATED.get(word) ?? new Set();
  for (const other of others) if (other !== word) related.add(other);
  RELATED.set(word, related);
}

/** Returns words that mean the same as a word in lower case, or a kind of it. */
export function listSynonyms(word: string): string[] {
  return [...(RELATED.get(word) ?? [])];
}
