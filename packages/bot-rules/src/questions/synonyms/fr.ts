/** French. See SynonymLists. */
export const GROUPS = `
réserver, réservation, rendez vous, prendre rendez vous, rdv, retenir
sans rendez vous, sans réservation, sans réserver, passer directement, venir directement, à l'improviste
annuler, annulation, décommander, se désister
reporter, reporté, déplacer, décaler, changer la date, autre date, changer de date, repousser
rembourser, remboursement, remboursé, récupérer argent, rendre l'argent
acompte, arrhes, à l'avance, avance, d'avance, verser
caution, dépôt de garantie, garantie
retard, en retard, arriver tard
plus tard, après, ensuite, passé ce délai, au delà
manquer, rater, raté, absent, absence, pas venir, louper, pas là
rattraper, rattrapé, remplacer, récupérer un cours
réduction, remise, # percent de, rabais, tarif réduit, promotion, moins cher, ristourne, # de remise, demi tarif, avantage, tarif préférentiel, payer moins, code promo, bénéficie, moitié prix, la moitié, # percent de moins
gratuit, gratuitement, offert, offerte, libre, sans frais, sans supplément, ne coûte rien, sans payer
inclus, incluse, incluses, compris, comprise, comprises, comprend, inclut, dans le prix, fourni, fournis, prévu
supplément, en plus, surcoût, supplémentaire, majoration, s'ajoute, en sus
parking, garer, stationner, stationnement, se garer, laisser voiture, place de parking, places pour les voitures, en voiture, voitures
voiture, auto, véhicule
venir chercher, récupérer, retirer, retrait, aller chercher, reprendre
déposer, dépôt, apporter, amener
livrer, livraison, expédier, expédition, envoi, envoyer, livré, frais de port, livrer à domicile
colis, paquet
phonenumber, contacter, joindre, joignable, appeler, téléphone, téléphoner, numéro, coordonnées, appelez
mail, e mail, courriel, écrire, message, adresse électronique
prévenir, avertir, informer, préavis, prévenant
pourboire
enfant, moins de # ans, gamin, petit, petits, tout petit, fils, fille, mineur, gosse, bambin, bout de chou
bébé, nourrisson, bébés
adolescent, ado, jeune, jeunes
senior, retraité, personnes âgées, aîné
adulte, adultes, majeur
étudiant, étudiants, étudiante, scolaire, étudiantes, universitaire
homme, hommes, messieurs, masculin
femme, femmes, dames, féminin
famille, parents
accompagnant, ami, amis, accompagner, accompagné, accompagnés
groupe, groupes, plusieurs personnes
coupe, couper, coiffeur, coiffure
couleur, coloration, teinture, mèches
mot de passe, code
perdu, perdre, perte, égaré, oublié, objets trouvés, oublier
d'occasion, occasion, seconde main, reconditionné
garantie, garanti, sous garantie
devis, estimation
mécontent, pas satisfait, réclamation, problème, plainte, pas content, insatisfait
abîmé, cassé, endommagé, panne, défectueux, casse, dégât, en panne, abimé
réparer, réparation, dépanner, remettre en état
remplacer, remplacement, changer, échanger, changement
fauteuil roulant, handicapé, accessible, accessibilité, mobilité réduite, pmr, plain pied, handicap
ascenseur, ascenceur
escalier, escaliers, marches
toilettes, wc, sanitaires
douche, douches
vestiaire, vestiaires, se changer, cabine
casier, casiers, consigne, objets de valeur
bagage, bagages, valise, valises, sac, sacs
garder, conserver, conservons, stocker, entreposer, laisser
affaires, vêtement, vêtements, habits, linge, article, articles, fringues, pièces
wifi, wi fi, internet, connexion
louer, location, emprunter, louez
acheter, achat, vente, vendre, vend, vendons, vendez
offrir, cadeau, cadeaux
bon cadeau, bons cadeaux, chèque cadeau, carte cadeau
valable, validité, expire, valide
carte, carte bancaire, carte bleue, cb, visa, mastercard, carte de crédit, uniquement en espèces
espèces, liquide, en liquide, cash, uniquement par carte, carte uniquement
chèque, chèques
virement, prélèvement
chèques vacances, ancv
facture, reçu, ticket de caisse, note
plusieurs fois, en plusieurs fois, mensualités, échelonner, étaler
payer, paiement, règlement, régler, moyens de paiement, acceptés, accepter
vélo, vélos, bicyclette, bicyclettes, vtt
bateau, bateaux, barque
débutant, débutants, débuter, commencer, connaissance, jamais fait, expérience, première fois, niveau
confirmé, avancé, expert
essai, essayer, découverte, tester, d'essai, séance d'essai
cours, leçon, séance, stage, atelier, formation
particulier, individuel, individuels, privé, seul à seul
professeur, prof, moniteur, enseignant, animateur, intervenant
enseigner, apprendre, apprend
solfège, notes, partition
inscrire, inscription, s'inscrire, inscriptions, adhérer, adhésion, m'inscrire
abonnement, abonné, adhérent, membre
résilier, résiliation, arrêter, mettre fin, quitter, se désabonner, désabonner, désengager, s'arrête, préavis
rentrée, année commence, début de l'année, début des cours, reprise
apporter, emporter, prendre avec, amener, emmener
porter, tenue, s'habiller
matériel, équipement, fournitures
serviette, serviettes
bonnet de bain, bonnet
fumer, fumeur, cigarette, tabac
alcool, bière, vin
manger, repas, restauration, nourriture, se restaurer, déjeune
petit déjeuner, petit déj, petits déjeuners
boisson, boire, boissons
végétarien, végétarienne, sans viande, végétariens
végétalien, végan, vegan
sans gluten, coeliaque, cœliaque, gluten
sans lactose, lactose
allergie, allergies, allergique, allergènes, intolérance
à emporter, emporter, vente à emporter
animal, animaux, animaux de compagnie
bruit, calme, silencieux, bruyant
dehors, extérieur, en plein air, terrasse, jardin, cour
intérieur, dedans
piscine, bassin, nager
salle de sport, fitness, musculation
chauffage, chauffé
climatisation, clim, climatisé
aéroport, vol
gare, train, sncf
bus, autobus, arrêt de bus, car
transports en commun, métro, tram, tramway
adresse, rue, situé, située, nous trouver, vous trouver, vous êtes où, avenue, vous êtes situés, situés, au numéro, vous situez
près, proche, à côté, en face
loin, distance, à pied, mètres, kilomètres
propriétaire, patron, gérant, fondateur, fondé, tenu par, dirige, tient
personnel, équipe, employés, salariés
emploi, recruter, recrutement, poste, embaucher, candidature, stagiaire
assurance, assuré
indemniser, dédommagement, dédommager
document, documents, papiers, pièce d'identité, carte d'identité, passeport, justificatif
ordonnance, certificat médical, certificat
permis, permis de conduire
langue, langues, parler, parlez
retour, retourner, renvoyer, rendre, rapporter
échange, échanger
taille, tailles, pointure
fait maison, maison, artisanal, fabriqué
ingrédients, contient, composition
bio, biologique, écologique, naturel
jeter, donner, donné, recycler, association, donnés
attente, attendre, file
prêt, terminé, fini, prête, délai, finie
urgent, express, urgence, rapide, le jour même, rapidement, vite
douleur, mal, souffrir
pluie, pleut, météo, mauvais temps, intempéries, orage
nager, natation, baigner, baignade
âge minimum, à partir de quel âge, limite d'âge, dès # ans, à partir de # ans, quel âge, trop tard, moins de # ans, plus de # ans, # ans, a # ans
seul, seuls, seule, sans accompagnateur, sans adulte, non accompagné, tout seul
capacité, places, combien de personnes, personnes maximum, accueillir, accueille, assises
chambre, chambres, hébergement
lit, lits, lit bébé, lit parapluie, berceau
draps, linge de lit, literie
nettoyer, nettoyage, nettoyons, laver, ménage, lavage, lavé, pressing
arrivée, arriver, check in, arrive
départ, partir, check out, quitter, libérer
dormir, nuit, nuitée, passer la nuit
camper, camping, tente, camping car, caravane
visite, visiter, visite guidée, guide, guidée
billet, entrée, ticket, tarif d'entrée, droit d'entrée
photo, photographier, photos, filmer
vacances, congés, congé, fermeture annuelle, congés annuels
fermé, fermée, fermeture, fermons, pas ouvert, pas de cours
soir, soirée
week end, samedi, dimanche
fête, anniversaire, mariage, événement, célébrer, évènement
mariée, mariage, mariées
compte, connexion, connecter, identifiant
utilisateur, utilisateurs, collègues
formule, abonnement, offre, forfait
exporter, télécharger, export
importer, téléverser
données, rgpd, confidentialité, données personnelles
chiffré, sécurisé, sécurité, chiffrement
aide, assistance, support, service client
application, appli, smartphone, téléphone portable, mobile, iphone, android
supprimer, effacer
rappel, rappeler
maximum, au plus, limite, limité
minimum, au moins, au minimum
prix, tarif, coût, coûte, frais
par mois, mensuel, mois
par an, annuel, annuelle
costume, costard, complet
robe, robe de soirée
veste, blouson, manteau
pantalon, jean
fermeture éclair, zip, fermeture
raccourcir, ourlet, retouche, retouches, reprendre
tache, taches, tâche
repasser, repassage, repassé, repassée
cuir, daim, fourrure
couette, couverture, plaid
couturière, couture, coudre
pneu, pneus, crevaison
frein, freins
écran, vitre
recharger, borne, recharge, charger
voiture électrique, véhicule électrique
moto, scooter
médecin, docteur, vétérinaire, dentiste
vacciné, vaccin, vaccination
examen, test, diplôme
échouer, rater
malade, maladie, raison médicale
enceinte, grossesse
massage, massages
garderie, garde d'enfants, aire de jeux, jeux
chaise haute, rehausseur
table à langer, langer
fleurs, bouquet, fleur
gâteau, tarte
café, expresso
pain, baguette
carte, menu, plats, plat
table, tables
musique, concert, concert live
clé, clés, clef
pénalité, amende, facturé
complet, disponible, disponibilité, places restantes, il reste
commande, commander, commandes
minimum de commande, commande minimum
étranger, international, autres pays
entreprise, société, professionnel, professionnels
scolaires, classe, groupe scolaire
association, club
à domicile, chez moi, domicile, chez vous
point de rendez vous, lieu de rendez vous
participer, participants, participation
ticket, reçu, bon
extérieur, extérieurs, hors commune
partir avant, partir plus tôt, plus tôt que prévu, avant la fin, départ anticipé, part avant
ouvert, ouverte, ouvre, ouvrons, ouvrez, ouverture, ouverts
accès, entrer, rentrer, code d'accès
obligatoire, nécessaire, requis, exigé
barbecue, barbecues, grillade, grillades, plancha
chambre double, double, pour deux
chambre simple, simple, pour une personne
caméra, caméras, vidéosurveillance
pain frais, pain, boulangerie, baguette
épicerie, magasin, supérette
laver son linge, lave linge, machine à laver, laverie
couple, conjoint, à deux, mari, femme
suspendre, geler, mettre en pause
arriver tard, arrivez plus tard, arriverons tard, arrivée tardive, arrivera vers, arrive vers
commencer, commence, débuter, début, démarrer, démarre
vaisselle, assiettes, couverts, verres
consultation, examen, consulter, visite médicale
immédiatement, tout de suite, aussitôt
opération, chirurgie, intervention
invités, convives, nombre de personnes
modifier, changer, modification
serveur, serveurs, serveuse, service à table
veille, jour avant, dernières heures, dernier moment, dernière minute
sur place, sur les lieux
jour férié, jours fériés, férié, fériés
noël, réveillon, veille de noël
pâques, lundi de pâques
jour de l'an, nouvel an, premier de l'an, saint sylvestre
fête nationale
film, séance, projection
voisin, pas chez moi, pas là, absent
pique nique, propre repas, son repas, apporter à manger, apporter son repas
réfrigérateur, frigo, four, micro ondes, cuisine, cuisiner
télé, télévision, tv
laisse, tenu en laisse, tenus en laisse
code postal, cp
monter, montage, installer, installation, démonter
légumes, fruits
imprimer, impression, impressions, imprimante, photocopie, copie, photocopies
téléphoner, appels, coup de fil, cabine, cabines, passer un appel, visio
randonnée, marche, balade, promenade
carte de fidélité, fidélité, points
enterrement de vie, evjf, evg
séminaire, team building, sortie d'entreprise, soirée d'entreprise
anniversaire d'enfant, goûter d'anniversaire
engagement, durée minimum, sans engagement
déplacement, frais de déplacement
parasol, transat, transats, chaise longue
moitié prix, demi tarif, réduction
courrier, domiciliation, domicilier
réunion, salle de réunion, réunions
entretien, maintenance
puce, puçage, identification
jouer, jeu, jeux
s'occuper, surveillance, surveiller
`;

export const KINDS = `
animaux, animal: chien, chat, chiens, chats, chiot
carte: visa, mastercard
vêtement, article, vêtements, articles: chemise, robe, manteau, pantalon, costume, veste, blouson
cuir: veste en cuir, blouson en cuir
instrument, instruments: piano, guitare, violon, flûte, batterie
véhicule, véhicules: voiture, moto, camionnette
documents: passeport, carte d'identité, permis
enfants, ans: bébé, tout petit, tout petits, ado
boissons: vin, bière, café, thé, jus
été: juin, juillet, août
hiver: décembre, janvier, février
repas: petit déjeuner, déjeuner, dîner
paiement: carte, espèces, chèque, virement
langue, langues: anglais, allemand, français, espagnol, italien
jours fériés, jour férié, fériés: noël, pâques, toussaint, jour de l'an, nouvel an, ascension, pentecôte
repas, nourriture: pizza, sandwich, sandwichs
`;
