/** Spanish. See SynonymLists. */
export const GROUPS = `
reservar, reserva, reservas, cita, pedir cita, pedir hora, turno, apuntar, coger cita, cita previa
sin cita, sin reserva, sin reservar, directamente, presentarse, sin cita previa
cancelar, cancelación, anular, anulación, anula, cancelo
aplazar, cambiar la fecha, cambiar fecha, mover, otra fecha, cambiar de fecha, posponer, cambiar la cita
devolver, devolución, reembolso, reembolsar, dinero de vuelta, devuelve, devolvéis, devuelven
señal, anticipo, adelanto, por adelantado, adelantado, pago previo, de antemano
fianza, depósito
retraso, llegar tarde, llego tarde, retrasar
más tarde, después, luego, pasado ese plazo
perder, faltar, no presentarse, no acudir, perdí, falta, no voy, no vengo
descuento, rebaja, # percent de, # percent menos, reducción, reducido, más barato, tarifa reducida, promoción, oferta, mitad de precio, # de descuento, precio especial, pagar menos, bonificación, dto, # percent a, la mitad
gratis, gratuito, sin coste, libre, sin cargo, de regalo, no cuesta nada, sin pagar, sin suplemento
incluido, incluye, incluida, incluyen, viene con, en el precio, comprendido
suplemento, extra, recargo, aparte, adicional, de más, cobramos
aparcar, aparcamiento, parking, estacionar, dejar coche, plazas de aparcamiento, garaje, estacionamiento, en coche, coches, dónde dejar
coche, auto, vehículo, carro
recoger, recogida, retirar, pasar a buscar
dejar, entregar, depositar
enviar, envío, entrega, enviáis, mandar, gastos de envío, reparto, repartir, a domicilio
paquete, pedido
phonenumber, contactar, contacto, llamar, teléfono, número, localizar, llame, telefonear, hablar con
correo, e mail, email, escribir, mensaje, correo electrónico
avisar, avisarme, informar, antelación, aviso, avisa
propina
niño, niños, menores de # años, niña, hijo, hija, infantil, pequeño, pequeños, menor, menores, críos, peques
bebé, bebés, recién nacido
adolescente, joven, jóvenes
jubilado, mayores, pensionista, tercera edad, jubilados, senior
adulto, adultos
estudiante, estudiantes, alumno, alumnos, universitario, universitarios, carné universitario, universidad
hombre, caballero, caballeros, hombres
mujer, señora, mujeres, señoras
familia, padres, familias
acompañante, amigo, acompañar, acompañado
grupo, grupos, comensales, gente, personas, invitados
corte, cortar, peluquería, corte de pelo
tinte, color, mechas, teñir
contraseña, clave, código
perdido, olvidado, objetos perdidos, pérdida, extraviado
segunda mano, usado, de ocasión, reacondicionado
garantía, garantizado
presupuesto, estimación
insatisfecho, descontento, reclamación, queja, no me gusta, no estoy contento, reclamar
roto, averiado, dañado, estropeado, rota, daños, avería, no funciona
reparar, reparación, arreglar, arreglo, arregláis
sustituir, cambiar, cambio, reemplazar, sustitución
silla de ruedas, accesible, accesibilidad, discapacitado, movilidad reducida, minusválido, sin barreras, rampa, discapacidad
ascensor, elevador
escalera, escaleras, escalones
baño, aseo, servicio, lavabo, aseos, servicios, baños
ducha, duchas
vestuario, vestuarios, cambiarse, probador
taquilla, taquillas, objetos de valor, consigna
equipaje, maleta, maletas, mochila, bolsas
guardar, conservar, guardamos, guardáis, almacenar
wifi, wi fi, internet, wlan
alquilar, alquiler, alquilan, prestar, prestado, alquiláis, préstamo
comprar, compra, vender, venta
regalo, regalar
tarjeta regalo, bono regalo, vale regalo, cheque regalo, bono, vale
válido, caduca, validez, vence, caducidad
tarjeta, tarjeta de crédito, tarjeta de débito, visa, mastercard, con tarjeta, solo efectivo
efectivo, metálico, en efectivo, en metálico, al contado, monedas, solo tarjeta, solo con tarjeta
transferencia, domiciliación, bizum
factura, recibo, ticket, comprobante
plazos, a plazos, cuotas, financiar, financiación, fraccionar
pagar, pago, formas de pago, aceptar, admitir, aceptamos, abonar
bici, bicis, bicicleta, bicicletas
barco, barca, barcos
principiante, principiantes, sin experiencia, empezar de cero, experiencia, primera vez, conocimientos, nivel inicial
avanzado, experto
prueba, probar, clase de prueba, demo
curso, clase, clases, taller, lección, sesión, formación
profesor, profesora, monitor, instructor
inscribirse, inscripción, matrícula, apuntarse, registrarse, matricularse, alta
socio, abono, suscripción, miembro, cuota
dar de baja, baja, darse de baja, rescindir
traer, llevar, traigo, llevo, hay que llevar, necesito, aportar
ropa, vestir, ponerse, indumentaria
material, equipo, equipamiento
toalla, toallas
fumar, fumadores, tabaco
alcohol, cerveza, vino
comer, comida, comidas
almuerzo, almorzar
cena, cenar
desayuno, desayunar
bebida, beber, bebidas
vegetariano, vegetarianos, vegetariana, sin carne
vegano, vegana, veganos
sin gluten, celíaco, celiaco, celíacos
sin lactosa, lactosa
alergia, alergias, alérgico, intolerancia, alérgenos
para llevar, llevar a casa
mascota, mascotas, animales
ruido, tranquilo, silencio
fuera, exterior, aire libre, terraza, jardín
dentro, interior
piscina, nadar
gimnasio, fitness
calefacción, calentado
aire acondicionado, climatizado
aeropuerto, vuelo
estación, tren, renfe
autobús, bus, autobuses, parada
transporte público, metro, tranvía
dirección, calle, dónde, encontrar, encuentra, situado, ubicado, ubicación, llegar, avenida, plaza, estáis, estamos en, ubicados, estamos, os encontráis, cómo llegar
cerca, próximo, al lado, junto
lejos, distancia, a pie, andando
dueño, propietario, jefe, fundador, fundado, dirige, dueña
personal, equipo, empleados
trabajo, empleo, trabajar, contratar, vacantes, currículum
seguro, aseguradora, asegurado, mutua, responsabilidad
documentos, documentación, dni, papeles, pasaporte, identificación, documento de identidad
permiso, carné, licencia, carnet
idioma, idiomas, hablar, habláis, lengua
devolver, devoluciones, retornar
talla, tallas, tamaño
casero, hecho en casa, artesanal, caseros, hacéis vosotros, casera, hecho a mano
ingredientes, contiene, lleva
ecológico, bio, orgánico
tirar, reciclar, desechar
esperar, espera, cola
listo, terminado, acabado, preparado
urgente, urgencia, exprés, rápido, mismo día, urgencias
dolor, duele, me duele
lluvia, llueve, tiempo, mal tiempo, tormenta
nadar, natación, bañarse
edad mínima, qué edad, a partir de # años, desde # años, límite de edad, mayores de # años, mayores de #, menores de #, tiene # años, # años
solo, solos, sola, sin acompañante, sin adulto
aforo, capacidad, caben, cabe, plazas, máximo de personas
habitación, habitaciones, alojamiento, cuarto
cama, camas, cuna
sábanas, ropa de cama
limpiar, limpieza, lavar, lavado
entrada, check in, llegada, llegar
salida, check out, irse, marcharse, dejar la habitación, abandonar
dormir, noche, pernoctar, pasar la noche
acampar, camping, tienda, autocaravana, caravana
visita guiada, guía, visita, visitar
entrada, entradas, ticket, billete
foto, fotos, fotografía, grabar, hacer fotos
vacaciones, descanso, de descanso, cerrado por vacaciones
cerrado, cerramos, cierra, cerráis, cierran, no abrimos
noche, por la noche, tarde noche
fin de semana, sábado, domingo
fiesta, cumpleaños, boda, evento, celebrar, celebración, celebramos, comunión, bautizo
salón, sala, salón privado
cuenta, iniciar sesión, acceder
usuario, usuarios, compañeros
plan, tarifa, suscripción
exportar, descargar
importar, subir
datos, rgpd, privacidad, protección de datos
cifrado, seguro, seguridad
ayuda, soporte, asistencia, atención al cliente
aplicación, app, móvil, iphone, android
borrar, eliminar
recordatorio, recordar
máximo, como mucho, hasta, límite
mínimo, al menos, como mínimo
precio, coste, tarifa, cuesta, vale
al mes, mensual, por mes
al año, anual
traje, disfraz
vestido
chaqueta, abrigo, cazadora
pantalón, vaqueros
cremallera
acortar, bajo, dobladillo, arreglos
mancha, manchas
planchar, planchado
cuero, piel, ante
neumático, rueda, pinchazo, ruedas
freno, frenos
pantalla, cristal
cargar, recarga, cargador
coche eléctrico, vehículo eléctrico
moto, motocicleta, scooter
médico, doctor, veterinario, dentista
vacunado, vacuna, vacunas
examen, prueba, certificado
suspender, suspendo, no aprobar
enfermo, enfermedad, motivo médico
embarazada, embarazo
masaje, tratamiento
guardería, ludoteca, parque infantil, zona infantil
trona, tronas, sillita, silla para bebé, silla alta
cambiador, cambiar pañales
flores, ramo
tarta, pastel
café, espresso
pan, barra
carta, menú, platos
menú infantil, medias raciones, ración infantil, para los más pequeños
mesa, mesas
música, música en directo, concierto
llave, llaves
multa, penalización, cobramos
completo, disponible, disponibilidad, libre, quedan
pedido, pedir, encargar, encargo
pedido mínimo
extranjero, internacional, otros países
empresa, empresas, negocio
escolares, grupo escolar, colegio
asociación, club
en casa, domicilio, a casa
descorche, propio vino, botella de vino
punto de encuentro, encontrarse
participar, participantes
postre, postres, dulces
primer día, prueba gratis, día de prueba, probar un día, sesión de prueba
acceso, entrar, acceder
obligatorio, obligatoria, hace falta, imprescindible
barbacoa, parrilla
habitación doble, doble, de matrimonio
habitación individual, individual
cámara, cámaras, videovigilancia
lesión, lesionar, lesiona, lesionado, me he lesionado
congelar, pausar, parar la cuota, suspender
abierto, abrimos, abre, abrís, abren, apertura
permanencia, compromiso, contrato mínimo
olvidado, olvida, olvidar, me olvido
pareja, parejas, marido, esposa, novio
ludoteca, guardería, cuidado de niños
empezar, empieza, comenzar, comienza, inicio, inicia
vajilla, platos, cubiertos, vasos
consulta, revisión, visita médica
enseguida, inmediatamente, al momento
operación, cirugía, intervención
invitados, número de personas, asistentes
modificar, cambiar, modificación
camarero, camareros, servicio de mesa
llegamos tarde, se retrasa, retrasa, llegar tarde
festivo, festivos, día festivo, días festivos, feriado, feriados
navidad, nochebuena, navidades, # de diciembre
nochevieja, año nuevo
semana santa, pascua, viernes santo
reyes
película, películas, cine, sesión
vecino, no estoy en casa, no hay nadie, ausente
picnic, comida de casa, propia comida, traer comida, bocadillo, bocadillos
nevera, frigorífico, cocina, cocinar, microondas
tele, televisión, tv
correa, atado, atados
código postal, cp
montar, montaje, instalar, instalación, desmontar
verdura, verduras, fruta, frutas
imprimir, impresión, copias, fotocopia, fotocopias
senderismo, caminar, paseo, ruta
tarjeta de fidelidad, puntos, fidelidad
despedida, despedidas, despedida de soltera, despedida de soltero
empresa, empresas, oficina, compañeros, equipo, team building
cumpleaños infantil, cumpleaños, fiesta infantil
sombrilla, hamaca, hamacas, tumbona
desplazamiento, gastos de desplazamiento
miedo, susto, sustos, terror, asusta
jugador, jugadores, personas, participantes
chip, microchip, poner chip
móvil, móviles, teléfono móvil, celular
`;

export const KINDS = `
mascotas, animales, mascota: perro, gato, perros, gatos, cachorro
tarjeta: visa, mastercard
vehículo, vehículos: coche, moto, furgoneta
documentos, documentación: dni, pasaporte, carné
niños, pequeños: bebé, adolescente
bebidas, bebida: vino, cerveza, café, té, agua
verano: junio, julio, agosto
invierno: diciembre, enero, febrero
comidas: desayuno, almuerzo, cena
pago, pagar: tarjeta, efectivo, transferencia, bizum
idioma, idiomas, lengua: inglés, alemán, francés, español, italiano
festivos, festivo, feriados: navidad, nochebuena, año nuevo, reyes, semana santa, nochevieja
comida: pizza, bocadillo, bocadillos
`;
