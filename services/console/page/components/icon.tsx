const PATHS = {
  home: "M4 11 12 4l8 7v8a1 1 0 0 1-1 1h-5v-6h-4v6H5a1 1 0 0 1-1-1v-8Z",
  bot: "M12 3v3M7 21h10a3 3 0 0 0 3-3v-7a3 3 0 0 0-3-3H7a3 3 0 0 0-3 3v7a3 3 0 0 0 3 3ZM9 13v2M15 13v2",
  book: "M4 5a2 2 0 0 1 2-2h14v15H6a2 2 0 0 0-2 2V5Zm0 15a1 1 0 0 0 1 1h15v-3",
  key: "M15.500 13.500a5 5 0 1 0-4.600-3.100L4 17.300V20.500h3.200l1.100-1.100v-2h2l1.600-1.600v-2h.5M16.500 7.500h.01",
  shield: "M12 3 5 6v5c0 4.5 2.9 8.2 7 10 4.1-1.8 7-5.5 7-10V6l-7-3Zm-3 9 2 2 4-4",
  chart: "M4 20h16M7 20v-7M12 20V6M17 20v-10",
  chat: "M5 4h14a2 2 0 0 1 2 2v9a2 2 0 0 1-2 2h-7l-5 4v-4H5a2 2 0 0 1-2-2V6a2 2 0 0 1 2-2Z",
  answer:
    "M5 4h14a2 2 0 0 1 2 2v9a2 2 0 0 1-2 2h-7l-5 4v-4H5a2 2 0 0 1-2-2V6a2 2 0 0 1 2-2Zm4 6.500 2.200 2.200 4.300-4.200",
  inbox: "M4 13h4l1.500 3h5l1.500-3h4M6.500 5h11L21 13v5a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2v-5L6.500 5Z",
  mail: "M5 5h14a2 2 0 0 1 2 2v10a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V7a2 2 0 0 1 2-2Zm-1.500 2 8.500 6 8.500-6",
  menu: "M4 7h16M4 12h16M4 17h16",
  close: "M6 6l12 12M18 6 6 18",
  plus: "M12 5v14M5 12h14",
  check: "m5 13 4 4L19 7",
  alert: "M12 8v5M12 16.5h.01M10.3 4 2.6 17.5A2 2 0 0 0 4.3 20.5h15.4a2 2 0 0 0 1.7-3L13.7 4a2 2 0 0 0-3.4 0Z",
  copy: "M9 9h10v11H9zM15 9V4H5v11h4",
  trash: "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5",
  upload: "M12 16V5M7 9.5 12 4.5l5 5M4 16v3a1 1 0 0 0 1 1h14a1 1 0 0 0 1-1v-3",
  link: "M10 14a4 4 0 0 0 5.7 0l3-3A4 4 0 0 0 13 5.300l-1 1M14 10a4 4 0 0 0-5.700 0l-3 3A4 4 0 0 0 11 18.700l1-1",
  chevronDown: "m6 9 6 6 6-6",
  chevronRight: "m9 6 6 6-6 6",
  user: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM4 21a8 8 0 0 1 16 0",
  exit: "M14 4h4a2 2 0 0 1 2 2v12a2 2 0 0 1-2 2h-4M9 8l-4 4 4 4M5 12h10",
  download: "M12 4v11M7 10.500l5 5 5-5M4 16v3a1 1 0 0 0 1 1h14a1 1 0 0 0 1-1v-3",
  thumbUp: "M7 21V10l5-7a2 2 0 0 1 2 2.500L13 9h6a2 2 0 0 1 2 2.400l-1.500 7.600a2 2 0 0 1-2 1.600H7ZM7 21H3V10h4",
  thumbDown: "M7 3v11l5 7a2 2 0 0 0 2-2.500L13 15h6a2 2 0 0 0 2-2.400L19.500 5a2 2 0 0 0-2-1.600H7ZM7 3H3v11h4",
  tool: "M14.500 6.500a4.500 4.500 0 0 0-6 5.600L3.500 17a2.100 2.100 0 0 0 3 3l5-5a4.500 4.500 0 0 0 5.600-6l-2.600 2.600-2.600-.700-.700-2.600 2.600-2.600a4.500 4.500 0 0 0-1.300-.200",
  play: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM10 8.500v7l5.500-3.500-5.500-3.500Z",
  clock: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM12 7v5l3 2",
  question:
    "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM9.500 9.500a2.500 2.500 0 1 1 3.500 2.300c-.700.300-1 .700-1 1.700M12 16.500h.01",
  target: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8Z",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14ZM16 16l4.500 4.500",
  file: "M6 3h8l5 5v13H6zM14 3v5h5",
} as const;

export type IconName = keyof typeof PATHS;

/** Icons that are mirrored in languages that are written from right to left. */
const DIRECTED: readonly IconName[] = ["chevronRight", "exit"];

/** Hidden from screen readers: text beside the icon, or the label of its button, must have the same meaning. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg
      className={DIRECTED.includes(name) ? "icon directed" : "icon"}
      viewBox="0 0 24 24"
      aria-hidden="true"
      focusable="false"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
