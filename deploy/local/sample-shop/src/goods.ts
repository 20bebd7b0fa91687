export const GOODS = [
  {
    slug: "mug",
    name: "Stoneware mug",
    price: "14.00",
    about: "Holds 350 ml. Glazed inside, rough outside. The mug can go into the dishwasher.",
  },
  { slug: "towel", name: "Linen tea towel", price: "12.50", about: "50 by 70 cm. Gets softer with every wash." },
  {
    slug: "board",
    name: "Oak board",
    price: "29.00",
    about: "One piece of oak, oiled. For bread, not for the dishwasher.",
  },
  { slug: "lamp", name: "Paper lamp", price: "48.00", about: "Warm, even light. The bulb is included." },
  { slug: "vase", name: "Clear vase", price: "22.00", about: "Recycled glass, blown by hand: no two are the same." },
  { slug: "blanket", name: "Wool blanket", price: "79.00", about: "130 by 180 cm of undyed wool." },
] as const;

/** The questions and answers on the page "Delivery and returns". */
export const TERMS = [
  ["How long does delivery take?", "Two to four working days. Orders placed before noon leave the same day."],
  ["What does delivery cost?", "4.90, and nothing from 50.00 on."],
  ["Can I send something back?", "Yes, unused and within 30 days. The return label is free of charge."],
  ["When do I get my money back?", "Within five working days after the parcel has come back."],
  ["How do I pay?", "By card, by transfer or by invoice."],
] as const;
