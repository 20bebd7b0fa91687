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

/** Words that ask and do not say what about, though no list of stop words has them. */
export const ASKING_WORDS: ReadonlySet<string> = new Set(
  [ENGLISH, GERMAN, FRENCH, SPANISH, OTHERS].flatMap((words) => words.split(/\s+/)),
);
