import { words } from "@parley/bot-rules/questions";
import { toWordSet } from "./accents.ts";

const ASKS_HOW = words(
  "how (?:do|can|to|could|should|would)|which command|what command|wie (?:kann|geht|\\p{L}+e ich|\\p{L}+t man)|welcher befehl|comment|cómo|come (?:si|posso|faccio)|como|hoe (?:kan|moet)|jak",
  "どうやって|如何|怎么|怎麼|كيف|איך",
);

/** Whether a message asks how to do something, so that lines of code can be the answer. */
export function asksHow(message: string): boolean {
  return ASKS_HOW.test(message);
}

/** Words that name the kind of value or a frequent action, but rarely the subject. */
const ASKING_WORDS = toWordSet(
  `next best still also really exactly currently usually type types sort available provide accept accepts start starts end ends
  cost costs price prices priced fee fees charge charges pay expensive time times long much many far fast old
  open opens opening opened hours close closes closed closing offer offers sell sells have has having buy buys get there possible allowed
  number come comes visit it they them
  t ça cela es er ihn davon dafür eso esto questo quello isso
  address e email e-mail mail courriel correo electrónico électronique call phone telephone take takes last lasts happen happens happened need want use age size maximum minimum weight distance temperature
  vorher rein beim ab kommt kommen komme bekomme bekommen bekommt leute personen dauer erreiche erreichen zahlen bezahlen zahlt
  nächste nächster nächsten beste noch genau eigentlich derzeit arten sorten beginnt
  kostet kosten preis preise gebühr teuer viele lange dauert dauern schwer geöffnet offen öffnet öffnen auf schließt geschlossen
  haben habt hat verkaufen verkauft bieten bietet anbieten gibt gibt's erlaubt möglich darf dürfen kann können nummer telefonnummer adresse passiert alter alt uhr uhrzeit größe gewicht groß hoch
  peuvent veux voudrais puis payer prendre personnes gens
  prochain prochaine meilleur encore genre commence acceptez prenez
  coûte coûtent prix tarif tarifs heure ouvert ouverte ouverts ouvrez ouvre fermé fermez faut falloir peut peux peut-on
  puis-je avez avez-vous vendez proposez proposez-vous trouver dure durée durent âge jour heures domicile
  pagar personas gente
  próximo próxima mejor todavía tipo tipos empieza aceptan
  cuesta cuestan precio precios hora horario abren abre abiertos abierto abierta cierran cierra dura duran tarda
  tienen tiene hay venden ofrecen ofrece puedo puede pueden debo deben hacen llama desde hasta edad domicilio teléfono dirección tamaño
  fino avere possono prendere pagare fare siete persone persona
  prossimo prossima migliore ancora tipi inizia comincia accettate
  costa costano prezzo prezzi ora orario aperto aperta aperti aprite apre chiuso chiude chiudete durano avete vendete
  offrite c'è ci posso può possiamo serve devo età telefono indirizzo
  custa custam preço preços aberto fecha têm vendem
  kost prijs gesloten hebben verkopen kan
  kosztuje cena otwarte macie
  abrís abrimos cerráis tenéis tienes aceptáis vendéis hacéis ofrecéis cobráis ofreces
  habt bietet macht verkauft nehmt öffnet schließt haben's gibts
  proposent faites prenez acceptez-vous avez vendez-vous
  fate offrite accettate chiudete prendete c'è`.split(/\s+/),
);

/** Words that only make a sentence a question. They have no meaning of their own. */
const INTERROGATIVES = toWordSet(
  `how what when where which who whose whom why
  wann wo woher wohin wer wem wen was wie warum weshalb wieso wieviel wieviele welche welcher welches welchen welchem
  quand quel quelle quels quelles où qui que quoi comment pourquoi combien
  cuándo dónde quién quiénes cómo qué cuál cuáles cuánto cuánta cuántos cuántas cuando donde quien como que cual cuanto
  quando dove chi che cosa come perché quanto quanta quanti quante quale quali qual
  onde quem quantos quantas porquê
  wanneer waar wie welk welke hoe hoeveel waarom
  kiedy gdzie kto kogo jak jaki jaka jakie ile dlaczego który która które`.split(/\s+/),
);

export function isInterrogative(word: string): boolean {
  return INTERROGATIVES.has(word);
}

export function isAskingWord(word: string): boolean {
  return ASKING_WORDS.has(word);
}

const HEAD = words(
  [
    "(?:how many|which|what(?: is| are|'s|’s) (?:the|your)|what(?! (?:is|are|do|does|did|can|could|should|would|will|has|have|if|about|happens?|kinds?|sorts?|to|the|i|you|we)(?!\\p{L})))",
    "(?:who|wer|qui|quién|chi|quem)(?: (?:is|are|was|ist|sind|est|es|è|é))?(?: (?:the|your|der|die|das|le|la|el|il))?",
    "how (?:do|does|can|could|should|would|to)(?: (?:i|we|you|one|it|they))?",
    "wie ?viele|welche[rsnm]?|was ist (?:der|die|das)",
    "combien de|quel(?:le)?s?(?: est (?:le|la))?|comment (?:(?:puis-je|peut-on|faire pour|dois-je|on peut))?",
    "cu[aá]nt[oa]s|qué|cuál es (?:el|la|su)|cómo (?:puedo|se puede|debo|hago para)?",
    "quali?|quant[ie]|qual è (?:il|la)|come (?:posso|si può|devo|faccio a)?",
    "quant[oa]s|qual é [oa]|hoeveel|welke?|wat is (?:de|het)|ile|ilu|któr[aye]",
  ]
    .map((part) => `(?:${part})`)
    .join("|")
    .replace(/^(.*)$/s, "(?:$1)\\s*(?:[dl]['’])?(?<head>[\\p{L}\\p{M}]+)"),
);

/** Returns the word that a question asks about by its form: "plans" in "How many plans are there?", "cancel" in "How do I cancel?". */
export function findHeadWord(message: string): string | undefined {
  return HEAD.exec(message)?.groups?.head?.toLowerCase();
}

const ASKS_ABOUT_A_CASE = words(
  "what (?:happens|if)|was (?:passiert|ist|geschieht),? wenn|que se passe-t-il si|(?:qué|que) (?:pasa|ocurre) si|(?:che )?cosa succede se|o que acontece se|wat (?:gebeurt er )?als|co (?:się stanie,? )?jeśli",
);

/** Whether a question is about a case, such as "What happens if I miss a lesson?". Then each of its words matters, not only the nouns. */
export function asksAboutCase(message: string): boolean {
  return ASKS_ABOUT_A_CASE.test(message);
}

const INDEFINITE = words(
  "something|anything|an? (?:item|article|product|order)|etwas|einen artikel|quelque chose|un article|un produit|algo|un (?:artículo|producto)|qualcosa|un (?:articolo|prodotto)|iets|een artikel|coś",
);

/** Whether a question is about anything of a kind, such as "Can I send something back?". Its answer holds for each thing. */
export function asksAboutAnything(question: string): boolean {
  return INDEFINITE.test(question);
}

const OWNED = words(
  "(?:my|our|their|his|meine?[nmrs]?|unsere?[nmrs]?|mon|ma|mes|son|sa|ses|notre|nos|mis?|sus?|nuestr[oa]s?|(?:il|la|i|le) (?:mi[oae]|miei)|meus?|minhas?|mijn|onze|moj[aąeę]|mój)\\s+(?<owned>[\\p{L}\\p{M}-]+)",
);

/** Returns what belongs to the visitor: "car" in "Where can I park my car?". The documents rarely name it. */
export function findOwnedWord(message: string): string | undefined {
  return OWNED.exec(message)?.groups?.owned;
}

const ACTION = [
  "(?:do|does|did|can|could|will|would|are|may|should) (?:you|i|we|they)(?: (?:guys|also|still|even|just|ever|possibly|please))* (?:have to |need to )?(?<action>\\p{L}+)",
  "vous (?:(?:me|nous|les?|la|l['’]|aussi|y|en) ?)?(?<action>\\p{L}+ez)",
  "(?<action>\\p{L}+ez)-vous",
  "(?:peut-on|puis-je|on peut|je peux|possible (?:de |d['’]))\\s*(?:se |s['’]|y |aussi )?(?<action>\\p{L}+)",
  "^\\P{L}*(?:y |también )?(?<action>\\p{L}+(?:áis|éis|ís|an|en))",
  "(?:puedo|puede|podemos|pueden|podéis) (?<action>\\p{L}+)",
  "^\\P{L}*(?:e |anche )?(?<action>\\p{L}+(?:ate|ete|ite))",
  "(?:posso|può|possiamo|possono|potete) (?<action>\\p{L}+)",
  "^\\P{L}*(?:und )?(?<action>\\p{L}+) (?:ihr|sie|du|man)",
  "^\\P{L}*(?:und )?(?:kann|können|könnt|darf|dürfen|muss|müssen|soll) (?:ich|man|wir|sie|ihr|mein\\p{L}*)(?= ).* (?<action>\\p{L}+)\\P{L}*$",
  "(?:want|like|need|plan) to (?<action>\\p{L}+)",
  "(?:veux|voudrais|souhaite|aimerais) (?<action>\\p{L}+)",
  "(?:quiero|quisiera|gustaría) (?<action>\\p{L}+)",
  "(?:vorrei|voglio|desidero) (?<action>\\p{L}+)",
  "(?:möchte|will|würde) .* (?<action>\\p{L}+)\\P{L}*$",
].map((pattern) => words(pattern));

/** Verbs that documents leave out, because their objects suffice. */
const GENERIC_ACTIONS = toWordSet(
  `one ones straight away immediately option options deal stuff things place spot today
  tun option optionen sachen dinge möglichkeit bringt bringe kriegen kriege platz sofort gleich direkt alles
  choses affaires place option possibilité tout suite directement
  cosas sitio opción posibilidad enseguida todo
  cose posto opzione possibilità subito tutto
  bring along first before afterwards help come get take use go give see know send put make eat drink visit
  vorher zuerst danach geht anfangen beginnen bringen mitbringen kommen mitkommen holen nehmen mitnehmen machen benutzen bekommen vorbeikommen essen trinken holt nehmt macht
  avant d'abord commencer débuter apporter amener venir prendre aller faire utiliser manger boire visiter prenez faites allez donnez
  antes primero empezar comenzar llevar traer venir ir coger tomar hacer usar comer beber visitar tienen
  prima iniziare cominciare portare venire andare prendere fare usare mangiare bere visitare date prendete fate`.split(
    /\s+/,
  ),
);

/** Parts of the day, which documents often have in other forms: "14:00" for "in the afternoon". */
const PART_OF_DAY = words(
  "morning|afternoon|evening|nachmittags?|vormittags?|abends?|après-midi|matin|soir|tarde|mañana|noche|pomeriggio|mattina|sera",
);

/** Predicates of a subject that the question also names: "Is breakfast included?". */
const ATTRIBUTES = toWordSet(
  `included free extra compulsory mandatory obligatory required necessary available safe problem ok okay
  inklusive dabei enthalten kostenlos pflicht verpflichtend nötig notwendig verfügbar problem schlimm
  compris comprise compris comprises inclus incluse gratuit gratuite payant payante obligatoire nécessaire disponible problème grave
  incluido incluida incluidos incluidas gratis obligatorio obligatoria necesario disponible problema
  incluso inclusa inclusi incluse compreso compresa gratis gratuito obbligatorio obbligatoria necessario disponibile problema`.split(
    /\s+/,
  ),
);

/** Whether a word of a question says little about its subject. */
export function isGenericAction(word: string): boolean {
  return GENERIC_ACTIONS.has(word) || ATTRIBUTES.has(word) || PART_OF_DAY.exec(word)?.[0] === word;
}

/** Returns the verbs that may say what a question asks about: "rent" in "Do you rent boats?". */
export function findActionWords(message: string): string[] {
  return ACTION.map((pattern) => pattern.exec(message)?.groups?.action?.toLowerCase()).filter(
    (word) => word !== undefined && !isGenericAction(word),
  ) as string[];
}

const ALTERNATIVES = /(?<!\p{L})(?<first>\p{L}{1,50}) (?:or|oder|ou|o|u) (?<second>\p{L}+)/giu;

/** Returns the words beside "or". An answer to "Can I cancel or move my booking?" may be about one of them. */
export function findAlternatives(message: string): string[] {
  return [...message.matchAll(ALTERNATIVES)].flatMap(({ groups }) => [groups?.first ?? "", groups?.second ?? ""]);
}

const CASE = words(
  "if|unless|otherwise|should (?:you|i|we)|in case|wenn|falls|sonst|bei|danach|si|s['’]il|sinon|en cas|passé ce délai|en caso|de lo contrario|después|se|in caso|altrimenti|als|indien",
);

/** Whether a text is about a case: "if you cancel later". */
export function isCase(text: string): boolean {
  return CASE.test(text);
}

const SELF = words(
  "(?:my|your|them|our)sel(?:f|ves)|on (?:my|our|your) own|selbst|selber|(?:moi|vous|soi|nous|eux)-mêmes?|(?:yo|uno|usted|nosotr[oa]s|ustedes|ellos) mism[oa]s?|por (?:mi|su) cuenta|da sol[oaie]|per conto (?:mio|proprio|vostro)",
);

/** Whether a text is about what visitors do themselves, as in "Can I put it up myself?". */
export function isSelfService(text: string): boolean {
  return SELF.test(text);
}

const HOURS = words(
  "(?:opening|business|office) (?:hours|times)|\\p{L}*(?:öffnungs|büro|geschäfts)zeiten|(?:heures? d['’]|horaires? d['’])ouverture|horaires|horarios?|orari[o]?|when we are open|hours",
);

/** Whether a text is about opening hours. */
export function isHours(text: string): boolean {
  return HOURS.test(text);
}

const CLAUSE = words(
  "is|are|do|does|did|can|could|will|would|must|what|if|ist|sind|gibt|gibt's|kann|darf|muss|was|wenn|il y a|y a-t-il|est|sont|est-ce|qu['’]est-ce|peut|faut|si|es|son|hay|puedo|puede|qué|è|sono|c['’]è|ci sono|posso|può|cosa|se|há|posso|is er|zijn",
);

/** Whether a message that continues a question is a question of its own, such as "And is there a fee?", and not only its end: "And on Sunday?" */
export function isOwnQuestion(message: string): boolean {
  return CLAUSE.test(message);
}
