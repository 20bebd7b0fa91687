/** The replies of the built-in model that are not quotes. */
export type SmallTalkTexts = {
  /** The beginning of each reply to a question that the passages do not answer. */
  decline: string;
  /** Follows `decline`; `topics` are headings of the documents, joined by commas. */
  topics: (topics: string) => string;
  greeting: string;
  thanks: string;
  goodbye: string;
  acknowledgement: string;
  human: string;
};

/** By the codes of the widget's languages. */
export const SMALL_TALK_TEXTS: { en: SmallTalkTexts } & Record<string, SmallTalkTexts> = {
  en: {
    decline: "Sorry, I don't know. I can only answer from the documents I was given.",
    topics: (topics) => `You can ask me, for example, about: ${topics}.`,
    greeting: "Hello! Ask me a question, and I will look for the answer in the documents I was given.",
    thanks: "You're welcome! If there is anything else you would like to know, just ask.",
    goodbye: "Goodbye!",
    acknowledgement: "Good. If there is anything else you would like to know, just ask.",
    human: "No, I am a program. I answer questions from the documents I was given.",
  },
  de: {
    decline: "Das weiß ich leider nicht. Ich kann nur aus den Dokumenten antworten, die ich habe.",
    topics: (topics) => `Sie können mich zum Beispiel fragen nach: ${topics}.`,
    greeting: "Hallo! Stellen Sie mir eine Frage, und ich suche die Antwort in den Dokumenten, die ich habe.",
    thanks: "Gern geschehen! Wenn Sie noch etwas wissen möchten, fragen Sie einfach.",
    goodbye: "Auf Wiedersehen!",
    acknowledgement: "Gut. Wenn Sie noch etwas wissen möchten, fragen Sie einfach.",
    human: "Nein, ich bin ein Programm. Ich beantworte Fragen aus den Dokumenten, die ich habe.",
  },
  fr: {
    decline: "Désolé, je ne sais pas. Je ne peux répondre qu'à partir des documents dont je dispose.",
    topics: (topics) => `Vous pouvez par exemple m'interroger sur : ${topics}.`,
    greeting: "Bonjour ! Posez-moi une question et je chercherai la réponse dans les documents dont je dispose.",
    thanks: "Je vous en prie ! Si vous souhaitez savoir autre chose, demandez-moi.",
    goodbye: "Au revoir !",
    acknowledgement: "Très bien. Si vous souhaitez savoir autre chose, demandez-moi.",
    human: "Non, je suis un programme. Je réponds aux questions à partir des documents dont je dispose.",
  },
  es: {
    decline: "Lo siento, no lo sé. Solo puedo responder a partir de los documentos que tengo.",
    topics: (topics) => `Puede preguntarme, por ejemplo, por: ${topics}.`,
    greeting: "¡Hola! Hágame una pregunta y buscaré la respuesta en los documentos que tengo.",
    thanks: "¡De nada! Si quiere saber algo más, pregúnteme.",
    goodbye: "¡Hasta luego!",
    acknowledgement: "Bien. Si quiere saber algo más, pregúnteme.",
    human: "No, soy un programa. Respondo a preguntas a partir de los documentos que tengo.",
  },
  it: {
    decline: "Mi dispiace, non lo so. Posso rispondere solo in base ai documenti che ho.",
    topics: (topics) => `Può chiedermi, per esempio, di: ${topics}.`,
    greeting: "Buongiorno! Mi faccia una domanda e cercherò la risposta nei documenti che ho.",
    thanks: "Prego! Se vuole sapere altro, me lo chieda.",
    goodbye: "Arrivederci!",
    acknowledgement: "Bene. Se vuole sapere altro, me lo chieda.",
    human: "No, sono un programma. Rispondo alle domande in base ai documenti che ho.",
  },
  pt: {
    decline: "Desculpe, não sei. Só posso responder com base nos documentos que tenho.",
    topics: (topics) => `Pode perguntar-me, por exemplo, sobre: ${topics}.`,
    greeting: "Olá! Faça uma pergunta e eu procuro a resposta nos documentos que tenho.",
    thanks: "De nada! Se quiser saber mais alguma coisa, pergunte.",
    goodbye: "Até logo!",
    acknowledgement: "Certo. Se quiser saber mais alguma coisa, pergunte.",
    human: "Não, sou um programa. Respondo a perguntas com base nos documentos que tenho.",
  },
  nl: {
    decline: "Sorry, dat weet ik niet. Ik kan alleen antwoorden uit de documenten die ik heb.",
    topics: (topics) => `U kunt mij bijvoorbeeld vragen naar: ${topics}.`,
    greeting: "Hallo! Stel mij een vraag, dan zoek ik het antwoord in de documenten die ik heb.",
    thanks: "Graag gedaan! Als u nog iets wilt weten, vraag het gerust.",
    goodbye: "Tot ziens!",
    acknowledgement: "Goed. Als u nog iets wilt weten, vraag het gerust.",
    human: "Nee, ik ben een programma. Ik beantwoord vragen uit de documenten die ik heb.",
  },
  pl: {
    decline: "Przepraszam, nie wiem. Mogę odpowiadać tylko na podstawie dokumentów, które mam.",
    topics: (topics) => `Można mnie zapytać na przykład o: ${topics}.`,
    greeting: "Dzień dobry! Proszę zadać pytanie, a poszukam odpowiedzi w dokumentach, które mam.",
    thanks: "Proszę bardzo! W razie kolejnych pytań proszę pisać.",
    goodbye: "Do widzenia!",
    acknowledgement: "Dobrze. W razie kolejnych pytań proszę pisać.",
    human: "Nie, jestem programem. Odpowiadam na pytania na podstawie dokumentów, które mam.",
  },
  ar: {
    decline: "عذرًا، لا أعرف. يمكنني الإجابة فقط من المستندات التي لديّ.",
    topics: (topics) => `يمكنك أن تسألني مثلًا عن: ${topics}.`,
    greeting: "مرحبًا! اطرح عليّ سؤالًا وسأبحث عن الإجابة في المستندات التي لديّ.",
    thanks: "على الرحب والسعة! إذا أردت معرفة شيء آخر فاسألني.",
    goodbye: "مع السلامة!",
    acknowledgement: "حسنًا. إذا أردت معرفة شيء آخر فاسألني.",
    human: "لا، أنا برنامج. أجيب عن الأسئلة من المستندات التي لديّ.",
  },
  he: {
    decline: "מצטער, אני לא יודע. אני יכול לענות רק מתוך המסמכים שיש לי.",
    topics: (topics) => `אפשר לשאול אותי למשל על: ${topics}.`,
    greeting: "שלום! אפשר לשאול אותי שאלה, ואחפש את התשובה במסמכים שיש לי.",
    thanks: "בבקשה! אם יש עוד שאלה, אפשר לשאול.",
    goodbye: "להתראות!",
    acknowledgement: "טוב. אם יש עוד שאלה, אפשר לשאול.",
    human: "לא, אני תוכנה. אני עונה על שאלות מתוך המסמכים שיש לי.",
  },
  ja: {
    decline: "申し訳ありませんが、わかりません。手元の文書からしかお答えできません。",
    topics: (topics) => `たとえば次のことについてお尋ねください：${topics}。`,
    greeting: "こんにちは。ご質問をどうぞ。手元の文書から答えを探します。",
    thanks: "どういたしまして。ほかにも知りたいことがあれば、お尋ねください。",
    goodbye: "さようなら。",
    acknowledgement: "はい。ほかにも知りたいことがあれば、お尋ねください。",
    human: "いいえ、プログラムです。手元の文書からご質問にお答えします。",
  },
  zh: {
    decline: "抱歉，我不知道。我只能根据已有的文档回答。",
    topics: (topics) => `例如，您可以问我：${topics}。`,
    greeting: "您好！请提问，我会在已有的文档中查找答案。",
    thanks: "不客气！如果还想了解其他内容，请随时提问。",
    goodbye: "再见！",
    acknowledgement: "好的。如果还想了解其他内容，请随时提问。",
    human: "不，我是一个程序。我根据已有的文档回答问题。",
  },
  "zh-hant": {
    decline: "抱歉，我不知道。我只能根據現有的文件回答。",
    topics: (topics) => `例如，您可以問我：${topics}。`,
    greeting: "您好！請提問，我會在現有的文件中尋找答案。",
    thanks: "不客氣！如果還想了解其他內容，請隨時提問。",
    goodbye: "再見！",
    acknowledgement: "好的。如果還想了解其他內容，請隨時提問。",
    human: "不，我是一個程式。我根據現有的文件回答問題。",
  },
};
