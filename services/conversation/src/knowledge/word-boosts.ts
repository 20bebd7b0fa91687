/** Words that are frequent in questions but do not name the question's subject. PostgreSQL's stop word lists lack most of them. */
export const QUESTION_WORDS = toWords(`
  how what when where which who whose whom why wann wo wohin woher wer wem wen was wie warum welche welcher welches welchen
  qui que quoi où cuando donde quien qué chi che cosa perché quale quali onde quem wie wat waar welke
  want wants need needs happen happens get gets got give gives given make makes made find say says know tell anything
  something everything someone somebody anyone please hello help way ways thing things possible use uses using used like let show explain mean means
  describe put set long much many often far fast soon work works working can't cannot could would should may might shall also still able try take
  takes keep go goes going back come comes see look whenever whatever much i'm i'd i've
  bitte gibt geben sagen sag erklären zeigen zeig wissen weiß möchte möchten brauche brauchen etwas jemand lange viel viele oft schnell hallo
  geht gehen macht machen finden finde kommt heißt bedeutet benutzen verwenden möglich
  plus moins cher chère chères chers cheapest expensive günstigste günstigsten billigste billigsten teuerste teuersten barato barata caro cara economico economica
  combien comment pourquoi quand quel quelle quels quelles dire dites expliquer montrer savoir voudrais voudrait besoin chose choses faire fait
  peut peux puis-je trouver bonjour utiliser possible
  cuánto cuánta cuántos cuántas cómo cuándo dónde cuál cuáles decir dime explicar mostrar saber quiero quisiera necesito algo hacer hace puedo
  puede encontrar hola usar posible
  quanto quanta come quando dove vorrei bisogno fare posso può trovare usare ciao quero preciso fazer posso pode usar olá hoeveel hoe waarom wanneer
  graag wil nodig doen kan vinden gebruiken hallo`);

/**
 * Words about price and permission. A question and its answer often share none of these words, but unrelated texts may share one of them:
 * "Bicycles travel free of charge" answers "Do bicycles cost extra?", but not "Is the sauna free?".
 */
const ATTRIBUTE_WORDS =
  toWords(`cost costs price prices fee fees charge charges charged pay pays paying paid extra additional free included
  allowed permitted available welcome
  kosten kostet preis preise gebühr gebühren zahlen zahlt bezahlen zusätzlich kostenlos gratis inklusive enthalten erlaubt gestattet verfügbar willkommen
  coûte coûtent coûter prix tarif tarifs payer payant supplément supplémentaire gratuit gratuite inclus incluse autorisé autorisés disponible
  cuesta cuestan costar precio precios pagar cobran suplemento adicional gratuito incluido incluida permitido permitidos
  costano prezzo prezzi supplemento incluso permesso custa custam preço preços incluído permitido disponível kost prijs betalen toeslag inbegrepen toegestaan`);

const QUESTION_WORD_BOOST = 0.15;
/**
 * Measured with bench/relevance: at 0.2 the built-in model answers a question that it must refuse. At 0.45 it refuses questions about
 * prices although the documents contain the answers.
 */
const ATTRIBUTE_WORD_BOOST = 0.3;

/** Returns the factor for a query word's weight: 1 for a word that may name the subject, less for a question or attribute word. */
export function findWordBoost(word: string): number {
  if (QUESTION_WORDS.has(word)) return QUESTION_WORD_BOOST;
  return ATTRIBUTE_WORDS.has(word) ? ATTRIBUTE_WORD_BOOST : 1;
}

function toWords(list: string): ReadonlySet<string> {
  return new Set(list.trim().split(/\s+/));
}
