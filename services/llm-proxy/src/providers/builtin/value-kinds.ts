import { words } from "@parley/bot-rules/questions";

/** A kind of value that a question can ask for. */
export type ValueKind = {
  /** Matches a question that asks for such a value. */
  asked: RegExp;
  /** Matches a sentence that contains such a value. */
  value: RegExp;
  /** Whether a sentence without such a value never answers. A date or a person can have other forms than `value` matches. */
  isRequired: boolean;
  /** Matches a sentence whose value is very likely of this kind. All values are, if undefined. */
  strong?: RegExp;
  /** Match a sentence that gives this value of the business itself, such as "You find us at …". */
  own?: readonly RegExp[];
};

const UNITS_OF_TIME = `\\p{N}*(?:seconds?|minutes?|mins?|hours?|days?|nights?|weeks?|months?|years?
|sekunden?|minuten?|stunden?|(?:werk|arbeits|kalender)?tage?n?|nächte?|wochen?|monate?n?|jahre?n?
|secondes?|minutes?|heures?|jours?|nuits?|semaines?|mois|ans?|années?
|segundos?|minutos?|horas?|días?|noches?|semanas?|mes(?:es)?|años?
|second[oi]|minut[oi]|or[ae]|giorn[oi]|giornat[ae]|nott[ei]|settiman[ae]|mes[ei]|ann[oi]
|dias?|noites?|mês|anos?|uur|uren|dag(?:en)?|we(?:ek|ken)|maand(?:en)?|ja(?:ar|ren)
|minut[ay]?|godzin[ay]?|dni|dzień|tygod(?:nie|ni|zień)|miesi(?:ąc|ące|ęcy)|lat[a]?|rok)`.replaceAll("\n", "");

const WEEKDAYS = `(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekdays?|weekends?|daily|every day
|(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonnabend|sonntag)s?|täglich|werktags?|wochenende
|lundis?|mardis?|mercredis?|jeudis?|vendredis?|samedis?|dimanches?|tous les jours
|lunes|martes|miércoles|jueves|viernes|sábados?|domingos?|todos los días
|lunedì|martedì|mercoledì|giovedì|venerdì|sabato|domenica|ogni giorno
|segunda|terça|quarta|quinta|sexta|maandag|dinsdag|woensdag|donderdag|vrijdag|zaterdag|zondag
|poniedział\\p{L}+|wtor\\p{L}+|środ\\p{L}+|czwart\\p{L}+|piąt\\p{L}+|sobot\\p{L}+|niedziel\\p{L}+`.replaceAll("\n", "");

const MONTHS =
  "janu?ar\\p{L}*|febru?ar\\p{L}*|march|april|may|june|july|august|september|october|november|december|märz|mai|juni|juli|oktober|dezember|janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre|décembre|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre|gennaio|febbraio|aprile|maggio|giugno|luglio|settembre|ottobre|novembre|dicembre";

const FREE =
  "half|hälfte|moitié|mitad|metà|free|libre|frei|libero|ohne berechnung|nothing|nichts|rien|nulla|no (?:extra )?(?:fee|charge|cost)|ohne aufpreis|sans supplément|sin coste|senza supplemento|included|inclusive|kostenlos|kostenfrei|gratis|umsonst|inklusive|inbegriffen|enthalten|gratuite?s?|comprise?s?|inclus\\p{L}*|gratuit[oa]s?|incluid[oa]s?|compres[oaie]|incluíd[oa]s?|grátis|inbegrepen|bezpłatn\\p{L}+|darmow\\p{L}+";

const PRICE: ValueKind = {
  isRequired: true,
  asked: words(
    "payante?s?|kostenpflichtig|de pago|a pagamento|how much(?= (?:is|are|does|do|did|was|for|would|will|to|can|extra|more)(?!\\p{L})|\\P{L}*$)|how expensive|costs?|prices?|priced|fees?|charges?|kosten|kostet|preise?|gebühr(?:en)?|teuer|wie ?viel(?= (?:kost|ist|sind|zahl|bezahl|muss))|combien (?=coût|pour|c['’]est|est)|coûte|coûtent|prix|tarifs?|cu[aá]nto (?:cuesta|vale|es|cobran)|cuestan?|precios?|tarifas?|quanto (?:costa|costano|viene)|costano?|prezz[oi]|quanto custam?|custam?|preços?|wat kost|kost|prijs|prijzen|ile kosztuj\\p{L}+|kosztuj\\p{L}+|cen[ay]",
    "いくら|値段|料金|多少钱|多少錢|价格|價格|费用|費用|بكم|سعر|ثمن|כמה עולה|מחיר",
  ),
  value: words(
    `(?:[€$£¥₪]|eur|usd|chf|euros?|dollars?|pounds?|pfund|franken|francs?|libras?|sterline|złotych|zł)\\s*\\p{N}+[\\p{N}.,]*|\\p{N}[\\p{N}.,]*\\s*(?:€|\\$|£|¥|₪|eur|usd|chf|gbp|euros?|dollars?|pounds?|cents?|franken|francs?|złotych|zł|%|percent|prozent)|\\p{N}+[.,]\\p{N}{2}|${FREE}`,
    "[€$£¥₪]\\s*\\p{N}|\\p{N}\\s*(?:[€$£¥₪%]|元|円|ريال|درهم|שקל)|無料|免费|免費|مجان|חינם",
  ),
};

const CLOCK_DIGITS =
  "\\p{N}{1,2}(?:[:.h]\\p{N}{2}|\\s?(?:uhr|h|am|pm|a\\.m\\.|p\\.m\\.|o'clock|heures?|horas?|uur))|noon|midnight|mittag|mitternacht|midi|minuit|mezzogiorno|mezzanotte|mediodía|medianoche|(?:von|from|de|dalle|between|zwischen|entre|tra le) \\p{N}{1,2} (?:bis|to|à|a|alle|and|und|et|y|e le)|(?:um|ab|bis|at|until|alle|dalle|las) \\p{N}{1,2}(?![.,]?\\p{N}| ?[€$£%])";

const CLOCK_TIME = `${CLOCK_DIGITS}|morning|afternoon|evening|night|morgens?|mittags|abends?|nachts|matin|soir|mañana|tarde|noche|mattina|pomeriggio|sera`;

const CLOCK: ValueKind = {
  isRequired: true,
  asked: words(
    "what time|how long (?:are|is|do|does|will) (?:you|it|the \\p{L}+) (?:stay )?open|wie lange (?:hab\\p{L}+|hat|seid|sind|ist)(?=.* (?:auf|offen|geöffnet)(?!\\p{L}))|um wie ?viel uhr|wie spät|quelle heure|qué hora|che ora|que horas?|hoe laat|o której",
    "何時|几点|幾點|באיזו שעה",
  ),
  value: words(`${CLOCK_DIGITS}|closed|geschlossen|fermée?s?|cerrad[oa]s?|chius[oaie]`, "\\p{N}{1,2}[:時点點]"),
};

const TIME: ValueKind = {
  isRequired: false,
  strong: words(`${CLOCK_DIGITS}|${WEEKDAYS}|${MONTHS}`, "\\p{N}{1,2}[:時点點月]|曜日|星期|周[一二三四五六日]"),
  asked: words(
    "when|which days?|what days?|opening hours|until when|wann|welche[nmr]? tage?|öffnungszeiten|quand|quels? jours?|horaires|cuándo|qué días?|horarios?|quando|quali? giorn[oi]|orari[o]?|wanneer|openingstijden|kiedy",
    "いつ|什么时候|什麼時候|متى|מתי",
  ),
  value: words(
    `${CLOCK_TIME}|${WEEKDAYS}|${MONTHS}|closed|geschlossen|fermée?s?|cerrad[oa]s?|chius[oaie]|fechad[oa]s?|gesloten|zamknięt\\p{L}+|${UNITS_OF_TIME}`,
    "\\p{N}{1,2}[:時点點月]|曜日|星期|周[一二三四五六日]",
  ),
};

const DURATION: ValueKind = {
  isRequired: true,
  asked: words(
    `how (?:many|much) (?:${UNITS_OF_TIME}|time)|wie ?viele? (?:${UNITS_OF_TIME}|zeit)|combien de (?:${UNITS_OF_TIME})|cuánt[oa]s (?:${UNITS_OF_TIME})|quant[ie] (?:${UNITS_OF_TIME})|how long|how soon|how much (?:notice|warning)|how early|how far (?:ahead|in advance)|wie früh|wie weit im voraus|con cuánta antelación|con quanto anticipo|quanto prima|how fast|how quick(?:ly)?|(?:in )?quanto (?:ci (?:mett\\p{L}+|vuole)|tempo ci)|wie lange|wie schnell|combien de temps|quelle durée|quel délai|cuánto (?:dura|duran|tarda|tardan|tiempo)|quanto (?:dura|durano|tempo|ci vuole)|quanto tempo|hoe lang|hoe snel|jak długo`,
    "どのくらい|多久|多长时间|كم يستغرق|كم تستغرق|כמה זמן",
  ),
  value: words(
    `${UNITS_OF_TIME}|\\p{N}+ ?(?:cm|mm?|km)|met(?:er|re)s?|overnight|today|tomorrow|immediately|at once|same day|heute|morgen|sofort`,
    "分|時間|日間|小时|小時|分钟|天|دقيقة|ساعة|يوم|דקות|שעות|ימים",
  ),
};

const NUMBER_WORDS =
  `one|two|three|four|five|six|seven|eight|nine|ten|dozen|several|both|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|hundred|unlimited
|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|zwanzig|dreißig|hundert|unbegrenzt|beliebig
|deux|trois|quatre|cinq|six|sept|huit|neuf|dix|douze|vingt|trente|cent|illimité\\p{L}*
|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|doce|quince|veinte|treinta|cien|ilimitad[oa]s?
|due|tre|quattro|cinque|sei|sette|otto|nove|dieci|dodici|venti|trenta|cento|illimitat\\p{L}
|dois|duas|três|quatro|sete|oito|dez|doze|vinte|trinta|twee|drie|vijf|zes|zeven|acht|negen|tien|twaalf|twintig`.replaceAll(
    "\n",
    "",
  );

const COUNT: ValueKind = {
  isRequired: true,
  asked: words(
    "how many|wie ?viele|combien de (?!temps)|cu[aá]nt[oa]s|quant[ie]|quant[oa]s|hoeveel|ilu|ile",
    "いくつ|何人|何個|多少个|几个|كم عدد|כמה",
  ),
  value: words(
    `(?:(?<![:.,]|[€$£] ?)\\p{N}[\\p{N}.,]*|${NUMBER_WORDS})(?![\\p{N}.,]*\\p{N}|[:.]\\p{N}|(?:[–-]\\p{N}+)? ?(?:${UNITS_OF_TIME}|[€$£¥%]|euros?|dollars?|uhr|h|am|pm|o'clock)(?!\\p{L}))`.replaceAll(
      "\n",
      "",
    ),
    "[一二三四五六七八九十百]",
  ),
};

/** "How much deposit" asks for money, "wie viel Garantie" for a time, and "how much flour" for a weight. An amount may have no number: "as much as you like". */
const AMOUNT: ValueKind = {
  isRequired: false,
  asked: words(
    "how much|wie ?viel|combien|(?<!(?<!\\p{L})en )cu[aá]nt[oa](?! antes)|quant[oa](?! (?:riguarda|concerne|à|às|ao|aos)(?!\\p{L}))",
  ),
  value: new RegExp(`\\p{N}|${words(`${NUMBER_WORDS}|${FREE}`).source}`, "iu"),
};

const AGE: ValueKind = {
  isRequired: true,
  asked: words(
    "ab (?:wie ?viel\\p{L}*|welchem) jahr\\p{L}*|how old|what age|which age|minimum age|wie alt|welche[mn]? alter|mindestalter|quel âge|qué edad|che età|que idade|hoe oud|leeftijd|ile lat",
  ),
  value: words(
    `${UNITS_OF_TIME}|(?:under|over|above|age[ds]?|unter|über|moins de|plus de|menores de|mayores de|sotto i|sopra i) (?:the age of )?\\p{N}+|(?:age of|âge de|edad de|età di|alter von) \\p{N}+|adults?|erwachsene?n?|adultes?|adultos?|adulti|grown-ups`,
  ),
};

const MEASURE: ValueKind = {
  isRequired: true,
  asked: words(
    "how (?:big|large|heavy|tall|high|far|wide|deep)|(?:maximum|file) size|wie (?:groß|schwer|hoch|weit|breit|tief)|quelle (?:taille|distance|hauteur)|qué (?:tamaño|altura|distancia)|quanto (?:è|sono) (?:grande|grandi|alt[oaie]|lontan[oaie])|hoe (?:groot|zwaar|hoog|ver)",
  ),
  value: words(
    `\\p{N}[\\p{N}.,]*\\s*(?:°\\s?[cf]?|[kmgt]i?b|bytes?|[kmc]?m²?|k?g|lb|lbs|oz|inch(?:es)?|feet|foot|miles?|met(?:er|re)s?|kilo\\p{L}*|gramm?\\p{L}*|lit(?:er|re|ro)s?|quadratmeter|mètres?|metros?|metri|%|persons?|people|personen)|${UNITS_OF_TIME}|\\p{L}+(?:meter|metre|mètre|metro|metri|kilogramm)s?`,
  ),
};

const TEMPERATURE: ValueKind = {
  isRequired: true,
  asked: words("how (?:hot|warm|cold)|temperatur\\p{L}*|température|wie (?:heiß|warm|kalt)"),
  value: words("\\p{N}+\\s*(?:°\\s?[cf]?|degrees?|grad|degrés?|grados|gradi)"),
};

const PERSON: ValueKind = {
  isRequired: false,
  asked: words("who|whose|whom|wer|wem|wen|wessen|qui|quién|quiénes|chi|quem|wie is|kto", "谁|誰|だれ|من هو|מי"),
  value: /\p{Lu}\p{Ll}+ \p{Lu}\p{Ll}+|(?:^|\s)(?:Dr|Mr|Mrs|Ms|Herr|Frau|Mme|Sra?|Sig)\b|\p{Lo}/u,
};

/** A street with a number, or a town with its postcode. */
const ADDRESS = new RegExp(
  [
    "\\p{Lu}[\\p{L} .'’-]{0,40}(?:[Ss]traße|[Ss]trasse|[Ss]tr\\.|[Gg]asse|[Pp]latz|[Ww]eg|[Aa]llee|[Uu]fer|[Mm]arkt|[Rr]ing|[Dd]amm) \\p{N}",
    "\\p{N}+(?: ?[a-z]|(?: bis| ter))?,? (?:rue|avenue|boulevard|place|quai|chemin|route|impasse|allée|cours) ",
    "(?:[Vv]ia|[Vv]iale|[Pp]iazza|[Pp]iazzale|[Cc]orso|[Vv]icolo|[Ll]argo|[Cc]alle|[Aa]venida|[Pp]laza|[Pp]aseo|[Rr]onda|[Cc]amino|[Cc]arretera) (?:\\p{L}{1,20} ){0,4}\\p{Lu}[\\p{L}'’ ]{0,40},? (?:n\\.? ?[º°]? ?)?\\p{N}+",
    "\\p{N}+[a-z]? (?:\\p{Lu}[\\p{L}'’-]+ ){1,3}(?:Street|Road|Lane|Avenue|Square|Way|Close|Row|Hill|Drive|Place|Court|Yard|Quay|Terrace|Gardens|Parade|Wharf|Mews|St|Rd|Ave)(?!\\p{L})",
    "(?:at|on) \\p{N}+[a-z]? \\p{Lu}\\p{Ll}+",
    "(?<![\\p{L}\\p{N}])[A-Z]{1,2}\\p{N}[A-Z\\p{N}]? \\p{N}[A-Z]{2}(?![\\p{L}\\p{N}])",
    ", \\p{N}{4,5} \\p{Lu}\\p{Ll}+",
  ].join("|"),
  "u",
);

const PLACE: ValueKind = {
  isRequired: false,
  own: [
    ADDRESS,
    words(
      "(?:is|are) (?:at|on|in) \\p{N}+|(?:find|visit) us|we are (?:at|in|on|located)|located (?:at|in|on)|our address|finden (?:sie )?uns|findest du uns|ihr findet uns|wir (?:sind|liegen|befinden)|unsere adresse|nous sommes|nous trouver|trouvez à|notre adresse|estamos en|nos encuentra\\p{L}*|nuestra dirección|siamo (?:in|a|al|nel|nella)|ci trov\\p{L}+|il nostro indirizzo|estamos (?:na|no|em)|wij zitten|u vindt ons|ons adres",
      "当店は|我们位于|我們位於|نحن في|אנחנו נמצאים",
    ),
  ],
  // The longer alternatives come first, because all words that match only ask.
  asked: words(
    `where (?:exactly )?(?:are|is|can) (?:you|u|we find you|i find you|your \\p{L}+)(?: guys)?(?: (?:exactly|based|located|situated))*|how (?:do|can) (?:i|we) (?:get|find) (?:to you|you|there)|how to (?:get there|find you)
|wo (?:genau )?(?:seid|sitzt|liegt|findet|finde|find|ist|befindet|sind) (?:ihr|sie|man euch|man sie|ich euch|ich sie|euer \\p{L}+|eure \\p{L}+)(?: genau)?|wie komm\\p{L}* (?:ich|man|wir) (?:zu euch|zu ihnen|hin|dahin)
|(?:vous êtes|vous vous trouvez|c['’]est|vous trouver|vous êtes situés?) où|où (?:êtes-vous|vous êtes|vous trouvez-vous|vous trouver|est-ce que vous êtes|puis-je vous trouver|peut-on vous trouver)(?: situés?)?
|d[oó]nde (?:est[aá](?:is|n)|os encontr\\p{L}+|se encuentran|qued[aá]is|os ubic\\p{L}+)(?: exactamente)?|cómo (?:llego|se llega)
|dove (?:siete|vi trov\\p{L}+|state)(?: di preciso| esattamente)?|come (?:arrivo|si arriva|vi raggiungo)
|where|`.replaceAll("\n", "") +
      "what address|your address|the address|wo|wohin|woher|adresse|où|dónde|dirección|dove|indirizzo|onde|endereço|waar|adres|gdzie",
    "どこ|哪里|哪裡|住所|地址|أين|איפה|כתובת",
  ),
  value: words(
    "in|at|on|online|website|near|behind|opposite|next to|beside|under|from|inside|street|road|square|avenue|im|an|auf|aus|bei|beim|neben|hinter|gegenüber|unter|\\p{L}*(?:straße|gasse|platz|weg|allee)|dans|à|au|aux|sur|sous|près|chez|rue|place|en|junto|detrás|frente|cerca|calle|plaza|avenida|nel|nella|nello|nei|dal|dalla|al|alla|via|piazza|corso|presso|vicino|dietro|no|na|em|rua|bij|naast|achter|w|przy|ul",
    "\\p{Lo}",
  ),
};

const EMAIL_ADDRESS = /[^\s@]{1,64}@[^\s@]{1,255}/u;

const PHONE: ValueKind = {
  isRequired: true,
  own: [
    words(
      "(?:tele)?(?:phone|fono|fon)[:.] ?\\+?\\p{N}|téléphone ?[:.] ?\\+?\\p{N}|tel[:.]+ ?\\+?\\p{N}|(?:call|reach|phone|ring) us|our (?:phone|number)|(?:rufen|erreichen) sie uns|unsere telefonnummer|appelez-nous|nous joindre|llámenos|nuestro teléfono|(?:ci )?chiami|il nostro numero|ligue|bel ons|zadzwoń",
    ),
  ],
  asked: words(
    "(?:tele)?phone number|(?:which|what) number|who (?:do|can|should) (?:i|we) (?:call|ring|phone)|welche nummer|wen (?:rufe|kann) ich|quel numéro|qui (?:dois-je )?appeler|qué número|a quién llam\\p{L}+|(?:che|quale) numero|chi (?:chiamo|devo chiamare)|your phone|call you|reach you|contact you|(?:hold of|in touch with|talk to|speak to) you|contact details|(?:sie|euch) (?:erreichen|kontaktieren)|kontaktdaten|vous (?:joindre|contacter|appeler)|vos coordonnées|contactar(?:les|os|con)|llamar(?:les|os)|contattar(?:vi|la)|chiamar(?:vi|la)|telefonnummer|anrufen|numéro|(?:su|el|número de) teléfono|numero di telefono|(?:número de|o) telefone|telefoonnummer|numer telefonu",
    "電話|电话|هاتف|טלפון",
  ),
  value: new RegExp(`\\p{N}(?:[\\s/()-]?\\p{N}){5,}|${EMAIL_ADDRESS.source}`, "u"),
};

const EMAIL: ValueKind = {
  isRequired: true,
  own: [EMAIL_ADDRESS],
  asked: words(
    "(?:your|the|an?) e-?mail|e-?mail address|e-?mail-?adresse|adresse (?:e-?mail|électronique)|(?:su|un) (?:correo|e-?mail)|correo electrónico|(?:indirizzo|vostra|una) e-?mail|endereço de e-?mail|adres e-?mail",
    "メールアドレス|电子邮件|電子郵件|البريد الإلكتروني|דוא״ל|אימייל",
  ),
  value: EMAIL_ADDRESS,
};

const DEFINITION: ValueKind = {
  isRequired: false,
  asked:
    /^\P{L}*(?:what(?:['’]s| is| are) (?!the |your )|was (?:ist|sind) (?!der |die |das |ihre? )|qu['’]est-ce que?|qué (?:es|son) (?!el |la )|(?:che )?cos(?:a |['’])è (?!il |la )|o que é (?!o |a )|wat (?:is|zijn) (?!de |het ))\S+(?:\s+\S+){0,2}\s*$/iu,
  value:
    /^(?:\S+ ){1,4}(?:is|are|ist|sind|est|sont|es|son|è|sono|é|são|zijn) (?:an?|the|eine?|der|die|das|une?|l[ea]|el|una|il|um|uma|een|de|het) /iu,
};

const KINDS: readonly ValueKind[] = [
  EMAIL,
  CLOCK,
  AGE,
  DURATION,
  TEMPERATURE,
  MEASURE,
  PRICE,
  COUNT,
  AMOUNT,
  TIME,
  PERSON,
  PLACE,
  PHONE,
  DEFINITION,
];

/** Asks for things, although it names the price. */
const ASKS_WHAT_IS_INCLUDED = words(
  "what(?:['’]s| is| are) (?:all )?(?:included|in) (?:in )?(?:the|your) (?:price|fee|cost)s?|what (?:does|do) (?:the|your) (?:price|fee)s? (?:include|cover)|was (?:ist|sind) (?:alles )?im preis|(?:qu['’]est-ce qui|que) (?:est )?(?:compris|inclus) dans le (?:prix|tarif)|que comprend le (?:prix|tarif)|qué (?:incluye|está incluido en) (?:el|la) (?:precio|tarifa)|(?:che )?cosa (?:(?:comprende|include) il|è (?:incluso|compreso) nel) prezzo",
);

/** Returns the first kind that a question asks for; undefined for none. */
export function findAskedKind(message: string): ValueKind | undefined {
  if (ASKS_WHAT_IS_INCLUDED.test(message)) return undefined;
  return KINDS.find(({ asked }) => asked.test(message));
}
