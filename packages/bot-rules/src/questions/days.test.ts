import { cpuMsOf } from "@parley/test-support";
import { expect, test } from "vitest";
import { findAskedDays, findDays, listNamesOfRelativeDay } from "./days.ts";

const DAY_NAMES = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const namesOf = (days: Iterable<number>) =>
  [...days]
    .sort()
    .map((day) => DAY_NAMES[day])
    .join(" ");

const MON_FRI = "mon tue wed thu fri";
const WEEK = `sun ${MON_FRI} sat`;

test.each([
  ["Monday: 14:00–22:00", "mon"],
  ["Open Mondays and Thursdays", "mon thu"],
  ["Mon–Fri 9–17, Sat 10:00–14:00", `${MON_FRI} sat`],
  ["Friday to Sunday", "sun fri sat"],
  ["We are open from Tuesday to Saturday", "tue wed thu fri sat"],
  ["daily from 9 to 17", WEEK],
  ["Every day except Monday", WEEK],
  ["on weekdays and at the weekend", WEEK],
  ["Mo. bis Fr. von 9 bis 18 Uhr", MON_FRI],
  ["Di, Do und Sa geschlossen", "tue thu sat"],
  ["montags und mittwochs", "mon wed"],
  ["Am Wochenende ist es geschlossen.", "sun sat"],
  ["du lundi au vendredi", MON_FRI],
  ["lun.-ven. 9h-12h", MON_FRI],
  ["tous les jours sauf le mardi", WEEK],
  ["de lunes a viernes; sábados de 10 a 14", `${MON_FRI} sat`],
  ["dal martedì alla domenica", "sun tue wed thu fri sat"],
  ["segunda-feira a sexta-feira", MON_FRI],
  ["maandag t/m vrijdag", MON_FRI],
  ["od poniedziałku do piątku, w sobotę do 14", `${MON_FRI} sat`],
  ["من الاثنين إلى الجمعة", MON_FRI],
  ["א'-ה' 9:00–17:00, יום שישי עד 13:00", "sun mon tue wed thu fri"],
  ["月曜日から金曜日まで", MON_FRI],
  ["月～金 9:00", MON_FRI],
  ["土・日は休み", "sun sat"],
  ["周一至周五", MON_FRI],
  ["星期一到五", MON_FRI],
  ["So we do this: the sun, a sat phone, mi casa, le fr", ""],
  ["It costs 5 euros. Do 3 of them!", ""],
  ["一月と日本", ""],
])("%j names the days %j", (text, expected) => {
  expect(namesOf(findDays(text))).toBe(expected);
});

const MONDAY = new Date("2026-11-30T05:00:00Z");

test.each([
  ["Are you open today?", "mon"],
  ["Are you open tonight?", "mon"],
  ["are you still open", "mon"],
  ["Do you deliver tomorrow?", "tue"],
  ["And the day after tomorrow?", "wed"],
  ["Are you open on Sunday?", "sun"],
  ["Habt ihr heute offen?", "mon"],
  ["Hat das Büro jetzt auf?", "mon"],
  ["Kann ich morgen kommen?", "tue"],
  ["Ist am Morgen jemand da?", ""],
  ["Übermorgen?", "wed"],
  ["Êtes-vous ouverts aujourd’hui ?", "mon"],
  ["Et demain ?", "tue"],
  ["¿Está abierto mañana?", "tue"],
  ["¿Abren por la mañana?", ""],
  ["Siete aperti oggi?", "mon"],
  ["Estão abertos amanhã?", "tue"],
  ["Bent u vandaag open?", "mon"],
  ["Czy jutro jest otwarte?", "tue"],
  ["هل المحل مفتوح اليوم؟", "mon"],
  ["אתם פתוחים מחר?", "tue"],
  ["今日は営業していますか", "mon"],
  ["你们明天开门吗", "tue"],
  ["My parcel is damaged, what now?", ""],
  ["When do you open?", ""],
])("%j asks about %j on a Monday", (message, expected) => {
  expect(namesOf(findAskedDays(message, "UTC", MONDAY))).toBe(expected);
});

test("today is the day in the time zone", () => {
  const today = (timeZone: string) => namesOf(findAskedDays("today?", timeZone, MONDAY));
  expect([today("America/Los_Angeles"), today("Europe/Berlin"), today("Pacific/Kiritimati")]).toEqual([
    "sun",
    "mon",
    "mon",
  ]);
});

test("lists the names of a relative day alone", () => {
  expect(listNamesOfRelativeDay("Open tomorrow?", "UTC", MONDAY)).toEqual(
    expect.arrayContaining(["tuesday", "dienstag", "mardi"]),
  );
  expect(listNamesOfRelativeDay("Open on Tuesday?", "UTC", MONDAY)).toEqual([]);
});

test("reads a long text in linear time", () => {
  const texts = ["mon ", "monday to ", "星期一到", "every day, "].map((part) => part.repeat(100_000 / part.length));
  for (const text of texts)
    expect(
      cpuMsOf(() => void findDays(text)),
      text.slice(0, 10),
    ).toBeLessThan(1_000);
});
