const ENGLISH = `want wants need needs happen happens get gets got give gives given make makes made find say says know tell anything
  something everything someone somebody anyone please hello help way ways thing things possible use uses using used like let show explain mean means
  describe put set long much many often far fast soon work works working can't cannot could would should may might shall also still able try take
  takes keep go goes going come comes see look whenever whatever much i'm i'd i've`;
const GERMAN = `bitte gibt geben sagen sag erklären zeigen zeig wissen weiß möchte möchten brauche brauchen etwas jemand lange viel viele oft schnell hallo
  geht gehen macht machen finden finde kommt heißt bedeutet benutzen verwenden möglich`;
const FRENCH = `combien comment pourquoi quand quel quelle quels quelles dire dites expliquer montrer savoir voudrais voudrait besoin chose choses faire fait
  peut peux puis-je trouver bonjour utiliser possible`;
const SPANISH = `cuánto cuánta cuántos cuántas cómo cuándo dónde cuál cuáles decir dime explicar mostrar saber quiero quisiera necesito algo hacer hace puedo
  puede encontrar hola usar posible`;
const OTHERS = `quanto quanta come quando dove vorrei bisogno fare posso può trovare usare ciao quero preciso fazer posso pode usar olá hoeveel hoe waarom wanneer
  graag wil nodig doen kan vinden gebruiken hallo`;

const ATTRIBUTES = `cost costs price prices fee fees charge charges charged pay pays paying paid extra additional free included
  allowed permitted available welcome
  kosten kostet preis preise gebühr gebühren zahlen zahlt bezahlen zusätzlich kostenlos gratis inklusive enthalten erlaubt gestattet verfügbar willkommen
  coûte coûtent coûter prix tarif tarifs payer payant supplément supplémentaire gratuit gratuite inclus incluse autorisé autorisés disponible
  cuesta cuestan costar precio precios pagar cobran suplemento adicional gratuito incluido incluida permitido permitidos
  costano prezzo prezzi supplemento incluso permesso custa custam preço preços incluído permitido disponível kost prijs betalen toeslag inbegrepen toegestaan`;

/** Words that ask and do not say what about, though no list of stop words has them. */
const ASKING_WORDS = setOf(ENGLISH, GERMAN, FRENCH, SPANISH, OTHERS);
/**
 * Words that ask what something costs or whether it is allowed. They do not say what the question is about, and the answer mostly uses
 * others: "Do bicycles cost extra?" is answered by "Bicycles travel free of charge", and "Is the sauna free?" is not answered by it.
 */
const ATTRIBUTE_WORDS = setOf(ATTRIBUTES);

const ASKING = 0.15;
/** Measured with bench/relevance: at 0.2 the built-in model answers a question that it must refuse, at 0.45 it refuses prices that a text names. */
const ATTRIBUTE = 0.3;

/** Returns how much a word of a question counts: 1 if it says what the question is about, less if it only asks. */
export function worthOf(word: string): number {
  if (ASKING_WORDS.has(word)) return ASKING;
  return ATTRIBUTE_WORDS.has(word) ? ATTRIBUTE : 1;
}

function setOf(...lists: string[]): ReadonlySet<string> {
  return new Set(lists.flatMap((words) => words.split(/\s+/)));
}
