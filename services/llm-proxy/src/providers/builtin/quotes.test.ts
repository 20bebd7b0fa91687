import { create } from "@bufbuild/protobuf";
import { findAskedDays, findContinuedQuestion } from "@parley/bot-rules/questions";
import { PassageSchema } from "@parley/rpc/llm";
import { describe, expect, test } from "vitest";
import { findQuotes } from "./quotes.ts";

/** A Monday. */
const NOW = new Date("2026-11-30T12:00:00Z");

/** Returns the text of the best quote; undefined if the passages have no answer. `texts` are the passages' texts by their headings. */
function quote(texts: Record<string, string>, message: string, before?: string): string | undefined {
  const passages = Object.entries(texts).map(([heading, text]) =>
    create(PassageSchema, { source: "shop.md", heading, text }),
  );
  const continued = before === undefined ? "" : findContinuedQuestion(message, [before]);
  return findQuotes({ message, continued, days: findAskedDays(message, "UTC", NOW) }, passages, [])[0]?.text;
}

const CANOES = {
  "Hire prices":
    "We hire out canoes and kayaks on a calm river. Buoyancy aids and paddles are included in the price. Groups of eight or more get 10% off when they book together.",
  Cancelling:
    "If we close the river because of wind or high water, you can choose between a new date and a full refund.",
  "Who can paddle":
    "Children must be at least 6 years old to come on the water. Paddlers may take out a boat on their own from the age of 14.",
  Parking: "Parking in the field next to the boathouse costs £3 for the day.",
};

const CLEANERS = {
  Nettoyage:
    "Article: Chemise lavée; Prix: 3,90 €; Délai: 24 heures.\nArticle: Costume deux pièces; Prix: 14,50 €; Délai: 48 heures.\nNous ne nettoyons ni le cuir ni la fourrure.",
  Horaires: "Jour: Lundi; Horaires: de 14 h à 19 h.\nJour: Mardi; Horaires: de 8 h 30 à 18 h 30.",
  "Service express":
    "Tout vêtement déposé avant 10 h est prêt le jour même. Le supplément express est de 5 € par pièce.",
  Retrait:
    "En cas de perte du ticket, présentez une pièce d'identité pour retirer vos articles. Nous conservons vos vêtements pendant trois mois. Passé ce délai, les articles sont donnés à une association.",
};

const SALON = {
  Team: "Five stylists work with us. Students with a valid card pay 15% less on Tuesdays.",
  Results: "Not happy with the result? Tell us within seven days.",
  Contact: "Call 0113 496 0182 or email desk@salon.example. Appointments can be made by phone or at the desk.",
};

describe("findQuotes", () => {
  test("a question for what the price includes is not one for an amount", () => {
    const boats = {
      "If you fall in": "Lost paddles are payable; our insurance covers damage up to £500.",
      Prices: "Our prices per day include paddles, a map and a dry bag.",
      "For two hours": "A canoe costs £18.",
    };
    expect(quote(boats, "what is included in the price?")).toMatch(/^Our prices per day include/);
    expect(quote({ Preise: "Im Preis sind Bettwäsche und Strom enthalten." }, "was ist im preis drin")).toMatch(
      /Strom/,
    );
    expect(quote(boats, "what does a canoe cost")).toBe("A canoe costs £18.");
  });

  test("an amount prefers a number, but may be without one", () => {
    const barn = { Luggage: "We carry your luggage. Bring as much luggage as you like." };
    expect(quote(barn, "how much luggage can i bring")).toMatch(/luggage/);
    expect(quote({ Kits: "The glaze is food-safe. You need 2 kg of glaze." }, "how much glaze do i need")).toMatch(
      /2 kg/,
    );
  });

  test("a question for what the visitor does prefers a sentence about that", () => {
    const shop = {
      Fitting: "We fit each kitchen within two days, and we fit the kitchen lights too.",
      "Own work": "We do not let customers fit a kitchen themselves.",
    };
    expect(quote(shop, "can i fit the kitchen myself")).toBe("We do not let customers fit a kitchen themselves.");
    expect(quote(shop, "do you fit kitchen lights")).toMatch(/^We fit each kitchen/);
  });

  test.each([
    ["can we cancel the tasting", "You can change a tasting until Friday. After that, no one can cancel."],
    [
      "Kann ich den Kurs stornieren?",
      "Den Kurs können Sie bis Freitag umbuchen. Danach können Sie nicht mehr stornieren.",
    ],
  ])("the answer to %j includes the time that its sentence refers to", (message, text) => {
    expect(quote({ Terms: text }, message)).toBe(text);
  });

  test.each([
    ["are life jackets included", /^Buoyancy aids/],
    ["Is there a discount for a group of ten?", /10% off/],
    ["How much does it cost to leave the car there?", /£3 for the day/],
    ["Do I get my money back if you have to close because of strong wind?", /full refund/],
  ])("answers %j with what the document calls it", (message, expected) => {
    expect(quote(CANOES, message)).toMatch(expected);
  });

  test.each([
    ["c'est combien pour un costard", /14,50 €/],
    ["vous gardez les habits combien de temps", /trois mois/],
    ["J'ai perdu mon ticket, comment récupérer mes affaires ?", /pièce d'identité/],
    ["vous nettoyez les vestes en cuir ?", /ni le cuir/],
    ["vous êtes ouverts jusqu'à quelle heure aujourd'hui", /^Jour: Lundi; Horaires: de 14 h à 19 h\./],
  ])("answers the French question %j", (message, expected) => {
    expect(quote(CLEANERS, message)).toMatch(expected);
  });

  test.each([
    ["and to go out alone?", "What is the minimum age for kids?", CANOES, /from the age of 14/],
    [
      "et il y a un supplément ?",
      "Je dois déposer avant quelle heure pour récupérer mon vêtement ?",
      CLEANERS,
      /5 € par pièce/,
    ],
    [
      "et après, qu'est-ce que vous en faites ?",
      "vous gardez les habits combien de temps",
      CLEANERS,
      /^Passé ce délai/,
    ],
  ])("answers %j after %j", (message, before, texts, expected) => {
    expect(quote(texts, message, before)).toMatch(expected);
  });

  test("declines a question about an action that the document does not mention", () => {
    expect(quote(CLEANERS, "Est-ce que vous louez des costumes ?")).toBeUndefined();
    expect(quote(SALON, "Are you hiring stylists?")).toBeUndefined();
    expect(quote({ Phones: "Refurbished phones have a guarantee." }, "Do you unlock phones?")).toBeUndefined();
  });

  test("a known word without its other words does not answer: a gift card is not any card", () => {
    expect(quote(SALON, "do you sell gift cards")).toBeUndefined();
    expect(quote(SALON, "do pensioners get a discount")).toBeUndefined();
  });

  test("a sentence after a question is quoted with the question", () => {
    expect(quote(SALON, "What if I'm unhappy with the result?")).toBe(
      "Not happy with the result? Tell us within seven days.",
    );
  });

  test("a question for contact details is answered with a number or an address", () => {
    expect(quote(SALON, "how do I get hold of you")).toMatch(/^Call 0113 496 0182/);
  });

  test("a question for a time is answered with a time, not with a part of the day", () => {
    const kitchen = {
      Hours: "On Monday evening we rest. The kitchen serves from 13:00 to 16:00 and from 20:00 to 23:30.",
    };
    expect(quote(kitchen, "What time does the kitchen close in the evening?")).toMatch(/^The kitchen serves/);
  });

  test("a question whether the business is open prefers the opening hours to other times", () => {
    const school = {
      Theorie: "Der Unterricht findet montags um 18:30 Uhr statt.",
      Bürozeiten: "Tag: Montag; Zeit: 15:00–18:30 Uhr.",
    };
    expect(quote(school, "habt ihr heute offen")).toMatch(/^Tag: Montag/);
  });

  test("a predicate that the document does not have outweighs no known subject", () => {
    const rates = { Rates: "Electricity costs 4.50 € per night.\nContents must be insured." };
    expect(quote(rates, "is electricity included?")).toMatch(/^Electricity costs/);
    expect(quote(rates, "Is insurance compulsory?")).toMatch(/^Contents must be insured/);
    expect(quote(rates, "is the sauna included?")).toBeUndefined();
  });

  test("a percentage off is a discount, and a line with a phone number says whom to call", () => {
    expect(
      quote({ Preise: "Rentner bekommen dienstags 10 % auf alle Gläser." }, "gibt es Ermäßigung für Senioren"),
    ).toMatch(/^Rentner/);
    expect(
      quote({ Mesa: "Puede reservar en el 950 555 731 o en nuestra web." }, "quiero llamar, ¿qué número es?"),
    ).toMatch(/^Puede reservar/);
  });

  test("how long the business has opened asks for a time of day", () => {
    const hours = { Öffnungszeiten: "Ein Sehtest dauert 25 Minuten. Mittwochs schließen wir um 13 Uhr." };
    expect(quote(hours, "wie lange habt ihr mittwochs auf")).toMatch(/^Mittwochs/);
  });

  test("a Spanish question whose only word is often a side word is answered", () => {
    expect(quote({ Normas: "Traiga un candado para la taquilla." }, "¿Qué tengo que llevar?")).toMatch(/^Traiga/);
  });

  test("a new subject replaces the only one of the question before", () => {
    const shop = {
      Goods: "The shop sells a mug (14.00), a towel (12.50) and a vase (22.00).",
      Vase: "The clear vase costs 22.00.",
    };
    expect(quote(shop, "and the vase?", "How much is the mug?")).toBe("The clear vase costs 22.00.");
  });

  test("a superlative is answered with the row that has the largest or smallest number, or not at all", () => {
    const tailor = { Repairs: "Work: Hem; Price: 12 €.\nWork: Zip; Price: 28 €.\nWork: Lining; Price: 95 €." };
    expect(quote(tailor, "what is the cheapest repair?")).toBe("Work: Hem; Price: 12 €.");
    expect(quote(tailor, "which one is the most expensive?")).toBe("Work: Lining; Price: 95 €.");
    expect(quote({ Hours: "We are closed on New Year's Day." }, "which is the cheapest day?")).toBeUndefined();
  });

  test("rows that answer equally well are quoted together, in their order", () => {
    const beach = {
      Rates:
        "Item: Umbrella, day; Price: 26 €.\nItem: Umbrella, first row; Price: 35 €.\nItem: Umbrella, week; Price: 155 €.",
    };
    expect(quote(beach, "how much is an umbrella")).toMatch(/26 €.*35 €.*155 €/);
  });

  test("a list or table below a heading that is the question is quoted as far as it fits", () => {
    const inn = {
      "Which cards do you take?": "Visa\nMastercard\nGirocard\nDo you take cheques? No.",
      "What does breakfast cost?": "Guest: Adult; Price: 14 €.\nGuest: Child; Price: 7 €.",
      "What is in the welcome basket?":
        "A loaf of bread.\nThe rest changes with the season. We ask the farms what is ripe.",
    };
    expect(quote(inn, "which cards do you take")).toBe("Visa; Mastercard; Girocard");
    expect(quote(inn, "What does breakfast cost")).toBe("Guest: Adult; Price: 14 €. Guest: Child; Price: 7 €.");
    expect(quote(inn, "what is in the welcome basket")).toBe("A loaf of bread.");
  });

  test.each([
    ["where are you based?", "The cinema is run by volunteers at 27 Quayside, Marlport.", /27 Quayside/],
    ["wo sitzt ihr?", "Unser Hof liegt in der Industriestraße 8, 94032 Passau.", /Industriestraße 8/],
    ["dove siete di preciso?", "Il lido si trova in viale Adriatico 41 a Porto Verde.", /viale Adriatico 41/],
    ["gibts studentenrabatt", "Für Studierende gibt es 10 % Nachlass.", /10 %/],
    ["Louez-vous des vélos ?", "Nous louons quatre vélos pour 12 € par jour.", /quatre vélos/],
    ["do you take cash?", "You can buy tickets at the desk; the desk takes cards only.", /cards only/],
    ["puedo cancelar o mover el día?", "Hasta 24 horas antes puede cambiar la fecha sin coste.", /cambiar la fecha/],
    ["macht ihr auch am sonntag umzüge", "An Sonn- und Feiertagen machen wir keine Umzüge.", /keine Umzüge/],
  ])("answers %j from words that the document has instead", (message, text, expected) => {
    expect(quote({ "": text }, message)).toMatch(expected);
  });

  test("a phrase with one word besides its stop words needs more than that word", () => {
    expect(quote({ Cour: "Nous n'avons pas de places pour les vélos." }, "on peut manger sur place")).toBeUndefined();
  });
});
