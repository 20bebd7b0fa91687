/** English. See SynonymLists. */
export const GROUPS = `
book, booking, reserve, reservation, appointment, make an appointment, schedule
slot, time slot, seat, spot, space, vacancy
walk in, walk ins, turn up, drop in, just come, come by, just show up, without an appointment, without appointment, without booking, without a reservation, no appointment, spontaneously
cancel, cancellation, call off, back out
reschedule, postpone, rebook, move, change the date, change date, another date, different date, new date
refund, money back, reimburse, reimbursement, pay back, returned
deposit, down payment, prepayment, in advance, upfront, up front, advance payment
late, delay, running late, be late, am late, overdue, minutes late
later, after that, afterwards, otherwise
no show, not show up, show up, miss, missed, fail to appear, skip
discount, deal, deals, reduced, reduction, reduced price, reduced rate, concession, cheaper, pay less, # off, # less, # percent off, # percent less, half price, special rate, special price, own rates, special offer, promotion, promo code, save money, cheaper price, reduction for, money off, half, half off
free, complimentary, gratis, no charge, free of charge, without charge, at no cost, no cost, for nothing, costs nothing, pay nothing, without extra cost
included, include, includes, comes with, come with, part of the price, inclusive, in the price, cover, covered
extra, surcharge, supplement, additional, extra charge, on top
parking, park, car park, free spaces, spaces behind, parking spaces, multi storey, parking lot, parking space, leave car, garage, come by car, cars, by car, driving
car, vehicle, automobile
pick up, collect, collection, pickup, fetch
drop off, hand in, bring in
delivery, deliver, shipping, ship, postage, courier, dispatch, send out, home delivery
send in, mail in, post, send
parcel, package
life jacket, life vest, buoyancy aid, buoyancy aids, flotation device
phonenumber, contact, reach, hold of, get in touch, in touch, call, phone, telephone, ring, call us, number, speak to, talk to, give us a call
email, mail, write to, message, text message, text
notify, notified, let know, inform, tell me, know when, hear from, hear back, get back to
tip, tipping, gratuity, gratuities
kid, child, children, under #, aged under #, toddler, little one, son, daughter, year old, youngster, minor, kids, infant
baby, infant, newborn
teenager, teen, youth, adolescent, young people
senior, pensioner, retired, retiree, elderly, oap, older people, over 65
adult, grown up
student, pupil, undergraduate
men, mens, man's, men's, gents, gents', gentlemen, male
women, womens, women's, ladies, female
family, families, parents
partner, companion, friend, guest, bring someone, plus one
group, groups, party, team, large party
haircut, cut, trim
dye, dyed, colour, color, tint, bleach
hair, hairdressing
password, passcode, pin
forgot, lost, misplaced, lose, lost property, left behind, forgotten, left my, left it, left something, left our
used phones, second hand, used, refurbished, pre owned, secondhand, preloved
warranty, guarantee, guaranteed
quote, estimate, quotation, tell the price, price before, cost estimate, assessment
unhappy, dissatisfied, disappointed, not happy, don't like, not satisfied, dont like, complain, complaint, complaints, not pleased
genuine, original, authentic, real
broken, cracked, damaged, smashed, shattered, defective, faulty, broke, damage, not working, doesn't work, stopped working
repair, fix, mend, put right, restore, mending
replace, replacement, new one, swap
wheelchair, accessible, accessibility, disabled, disability, step free, level access, barrier free, wheelchair friendly, reduced mobility, ramp
lift, elevator
stairs, steps, staircase
toilet, restroom, bathroom, washroom, loo, wc
shower, showers
changing room, locker room, change clothes, get changed, dressing room
locker, lockers, valuables
store, keep, storage, hold on to, leave luggage, look after
luggage, baggage, bags, suitcase, rucksack, backpack
wifi, wi fi, internet, wlan, wireless
rent, rental, hire, borrow, lend, lent, loan, rent out, hire out
buy, purchase, for sale, sell, sells
resell, get rid of, sell my, sell your, trade in, part exchange, we buy
gift, present
voucher, gift card, gift voucher, gift certificate, vouchers
wrap, gift wrap, wrapped, wrapping
valid, expire, expires, validity, expiry, run out, good for, last
card, credit card, debit card, visa, mastercard, amex, plastic, cash only
cash, banknotes, coins, cards only, card only, cashless
contactless, apple pay, google pay, mobile payment
bank transfer, transfer, wire transfer, bacs, direct debit
invoice, bill, receipt
instalments, installments, monthly payments, pay monthly, pay later, klarna, finance
pay, payment, accept, payment methods
bike, bicycle, cycle
boat, boats, vessel
beginner, beginners, newbie, novice, no experience, experience needed, first time, never done, new to, starter, from scratch
advanced, experienced, expert
trial, try, taster, try out, demo, free trial, trial period, test period, try it
course, class, lesson, workshop, training course
teacher, instructor, trainer, coach, tutor, taught by, teach
register, sign up, enrol, enroll, enrolment, registration, join, apply, application, signup
membership, member, subscription, subscribe, join
terminate, end membership, end contract, move out, quit, unsubscribe, cancel membership, close account
notice, notice period, in advance, beforehand, how early
bring, bring along, take with, need to bring, take along
wear, clothing, clothes, dress, outfit, dress code, garment
equipment, gear, kit, tools, material, materials
towel, towels
smoke, smoking, cigarettes, vape, non smoking
alcohol, beer, wine, drinking, drinks
food, eat, meal, snack, bite to eat
breakfast, morning meal
drink, drinks, beverage, beverages
vegetarian, veggie, meat free, meatless
vegan, plant based
gluten free, coeliac, celiac, without gluten
lactose free, dairy free, without lactose
allergy, allergies, allergic, intolerance, nuts, allergens
takeaway, take away, takeout, to go, take out
pet, pets, animals
noise, loud, quiet, silence
outside, outdoors, outdoor, open air, terrace, patio, garden
inside, indoors, indoor
pool, swimming pool
gym, fitness room, fitness
heating, heated, warm
air conditioning, aircon, ac
airport, flight
station, train station, railway, train, rail
bus, buses, bus stop, coach
public transport, by bus, by train, metro, underground, tram, subway
directions, get there, get here, find you, find us, located, location, address, where are you, street, road, lane, avenue, based, situated, whereabouts
near, close to, nearby, next to, nearest
far, distance, walk, away
owner, own, owns, founder, founded, run by, boss, manager, runs
staff, employees, team, people work
job, jobs, vacancies, hiring, career, careers, recruit, position
qualified, certified, trained, qualification
insurance, insured, insurer, insurers, insurance company
documents, paperwork, papers, id, passport, identification, identity card, proof of identity, photo id
prescription, referral
licence, license, permit
language, languages, speak, spoken
english, in english
receipt, proof of purchase
return, returns, send back, give back, bring back, returned
exchange, swap, different size
size, sizes, fit
made, handmade, homemade, produced, home made
ingredients, contain, contains, made of, made from
organic, natural, bio, eco
recycle, recycled, dispose, disposal, bin, thrown away, give away, donated
unclaimed, uncollected, don't collect, not collected, forget to collect, don't pick, not pick
wait, waiting, queue, while you wait, waiting time
ready, finished, done, completed, turnaround
urgent, emergency, express, rush, same day, quickly, asap, fast
emergency, out of hours, at night
pain, hurt, ache, hurts
rain, raining, rainy, weather, bad weather, storm, wet
wind, windy, storm, high wind
swim, swimming
minimum age, how old, old enough, age limit, age, aged, aged # and over, # and over, year old, under the age of #
alone, on their own, on your own, by myself, on my own, unaccompanied, by himself, by herself, by themselves, without parents, solo, by oneself, without an adult
accompanied, accompany, supervised, supervision, with an adult, with a parent
capacity, fit, seat, seats, hold, holds, how many people, carries, sleeps, maximum number
room, rooms, bedroom, accommodation
bed, beds, cot, crib
sheets, bed linen, linen, bedding
clean, cleaning, cleaned, wash, washed, treat, treated, cleaner
check in, arrive, arrival, checkin
check out, leave, depart, departure, vacate, checkout
overnight, stay, sleep, sleep over, spend the night
camp, camping, tent, caravan, motorhome, campervan
tour, guided tour, guide, guided, visit
ticket, tickets, entry, admission, entrance fee, entrance
audio guide, audioguide
photo, photograph, photography, pictures, take pictures, photos, filming
exhibition, exhibit, collection
season, seasonal, summer, winter
vacation, annual leave, school holidays
weekend, weekends, saturday, sunday
evening, evenings, night, tonight
opening hours, opening times, hours
event, party, birthday, celebration, wedding, celebrate
catering, caterer, buffet
projector, beamer, screen
stall, booth
account, log in, login, sign in, profile
user, users, people, seats, colleagues, team members
plan, tier, subscription plan, pricing plan
upgrade, downgrade, switch plan, change plan
export, download, backup, back up
import, upload, migrate, transfer
data, files, photos, contacts, documents
privacy, gdpr, data protection, personal data
encrypted, encryption, secure, security
server, servers, hosted, hosting, stored
customer service, assistance, technical support, helpdesk
app, mobile app, iphone, android, smartphone
integration, integrate, integrations, plugin
storage, space, gigabytes, gb
delete, remove, erase
reminder, reminders, remind
maximum, limit, at most, up to, max, longest
minimum, at least, no less than, shortest
price, cost, fee, charge, rate, rates, tariff
hourly, per hour, an hour
weekly, per week
monthly, per month, a month, each month
yearly, per year, annual, annually
wedding, bride, bridal, marriage, married
suit, costume, tuxedo
dress, gown
jacket, coat, blazer
trousers, pants, jeans
zip, zipper
shorten, hem, alter, alteration, alterations, take up
stain, stains, spot, mark
iron, ironing, ironed, pressed
leather, suede
mirror, glass
tyre, tire, tyres, puncture, flat
brake, brakes
oil, oil change
battery, batteries
screen, display
water damage, liquid damage, got wet, dropped in water, in the toilet, fell in water, wet
charger, charging, charge, charging point
electric car, electric vehicle, ev, charging station
doctor, physician, gp, dentist, vet
vaccinated, vaccination, jab, vaccine
first aid, injury, injured
lesson, tuition
exam, test, certificate, qualification
fail, failed, don't pass, not pass
makeup, cosmetics, make up
nails, manicure, pedicure
massage, treatment
pregnant, pregnancy, expecting
sick, ill, illness, sickness, unwell, medical reasons
child care, childcare, babysitting, kids club, playground, play area
high chair, highchair, booster seat
nappy, diaper, baby changing, changing table
quiet, calm
flowers, bouquet, arrangement
cake, pie, tart
coffee, espresso
bread, loaf
menu, dishes, dish
spicy, hot
table, tables
terrace, patio, garden, outside
music, band, live music
key, keys
fine, penalty, late fee, charged
sold out, fully booked, full, availability, available
stock, in stock
order, orders
minimum order, minimum spend
track, tracking, where is my
abroad, international, overseas, other countries, worldwide, foreign
customs, import duty
sample, samples
printing, print, copies
business, company, companies, businesses, firm, corporate
school class, school classes, school group
club, association, nonprofit, charity
haggle, negotiate
home visit, house call, come to me, come to my home, at home, mobile service, come to my house
meeting point, meet, meeting place, where do we start
leave early, finish early
access, get in, enter, entry, let in, door code
stuff, belongings, goods, possessions
must, required, compulsory, mandatory, obligatory, requirement
camera, cameras, cctv, surveillance
double room, double, for two
single room, single, for one
barbecue, bbq, grill, grilling
opening, opens, open
move, removal, van with driver, moving
thief, theft, stolen, burglary, burglar
nursery, creche, childminder
deadline, latest, by when, no later than
plastic bag, bags, carrier bag
spouse, wife, husband, couple, couples
injured, injury, hurt myself
freeze, pause, suspend, put on hold
furniture, sofa, wardrobe
packing materials, packing material, boxes, cardboard
lost property, left something, found items
water, drinking water, tap water
begin, begins, start, starts, starting, kick off, commence
crockery, plates, cutlery, dishes, glasses, tableware
consultation, consult, see the doctor, see the vet, see a doctor, see a dentist, check up, checkup, examination, exam fee
straight away, immediately, right away, at once, on the spot
operation, surgery, procedure, surgical
board, boarding, look after, kennel, cattery, pet sitting
guests, number of people, head count, attendees
change, modify, amend, edit
waiter, waiters, waitress, serving staff
dog food, cat food, pet food
bank holiday, bank holidays, public holiday, public holidays, holiday, holidays
christmas, xmas, christmas day, christmas eve, boxing day
easter, good friday, easter monday
new year, new year's day, new year's eve
film, movie, films, movies
ads, adverts, advertisements, commercials, trailers
deaf, hearing, subtitles, captions
microchip, chip, chipping, microchipped
not home, not at home, nobody in, no one home, nobody home, not in, neighbour
own food, outside food, bring food, own drinks, bring drinks, own lunch, packed lunch, picnic
fridge, refrigerator, freezer
tv, television, telly
leash, lead
postcode, zip code
assemble, assembly, install, installation, set up, mount
vegetables, veg, produce, fruit
bouquet, bunch, posy
dispose, haul away, take old, take away old, get rid of
wilt, wither, dead, died, droop
instructions, manual
sunscreen, sun cream
trainers, sneakers
weight, heavy
temperature, how warm, degrees
fireplace, wood burner, stove
ironing board, iron
washing machine, laundry, washer
kitchen, cook, cooking, self catering
allowed in, admitted
walk, hike, hiking
stamp card, loyalty card, loyalty, points
newsletter, mailing list
certificate, diploma
lesson, session, sessions, class
refill, top up
hen party, hen do, stag do, bachelorette, bachelor
team building, staff outing, work outing, office party, corporate event, companies
kids' party, children's party, birthday party
`;

export const KINDS = `
pet, pets, animals: dog, cat, puppy, dogs, cats
card: visa, mastercard, amex
device, devices: phone, tablet, laptop, computer
phone, phones: iphone, smartphone, mobile, android, cellphone, samsung
tablet, tablets: ipad
laptop, laptops: macbook, notebook
instrument, instruments: piano, guitar, violin, flute, drums
vehicle, vehicles: car, van, motorbike, motorcycle, scooter
clothes, garment, garments, clothing: shirt, jacket, coat, dress, trousers, suit, jumper
documents, id: passport, driving licence, identity card
children, under, age: year old, years old, baby, toddler, teenager
drinks, beverages: wine, beer, coffee, tea, juice
holidays, holiday, bank holidays, bank holiday, public holidays, public holiday: christmas, xmas, christmas day, boxing day, easter, good friday, new year, new year's day, new year's eve, thanksgiving
summer: june, july, august
winter: december, january, february
meals, food: breakfast, lunch, dinner
files, data: photos, pictures, contacts, videos
public transport: bus, train, tram
craft, boats: canoe, kayak, paddleboard
equipment: helmet, paddle, rope, shoes
language, languages: english, german, french, spanish, italian, dutch
packing materials, packing material: boxes, tape, padlocks
food: pizza, sandwich, sandwiches, burger, cake, snacks
`;
