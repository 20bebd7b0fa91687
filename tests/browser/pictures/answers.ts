/** The README's film is recorded this many times slower than it plays, to capture enough frames. */
export const RECORDING_SLOWDOWN = 3;

/** The assistant's answers in the README's pictures, by question. */
export const ANSWERS: Readonly<Record<string, string>> = {
  "Can the mug go into the dishwasher?": `Yes, the **stoneware mug** can:

- best on the *upper* rack,
- and the microwave is fine too.

Shall I tell you about delivery?`,
  "How long does delivery take?": `Two to four working days. Orders placed **before noon** leave the same day.

Delivery costs 4.90, and nothing from 50.00 on. See [all the terms](https://shop.example/delivery).`,
  "And if I want to return it?": `Then you have **30 days**, as long as it is unused:

1. Print the return label, which is free.
2. Bring the parcel to any post office.

Your money is back within five working days.`,
  "كم يستغرق التوصيل؟": `من يومين إلى أربعة أيام عمل. الطلبات قبل **الظهر** تُرسل في اليوم نفسه.

التوصيل مجاني للطلبات من 50.00 فما فوق. انظر [كل الشروط](https://shop.example/delivery).`,
  "وإذا أردت إرجاعه؟": `لديك **30 يومًا** ما دام غير مستعمل:

1. اطبع ملصق الإرجاع، وهو مجاني.
2. سلّم الطرد في أي مكتب بريد.`,
};
