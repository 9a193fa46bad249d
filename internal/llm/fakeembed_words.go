package llm

// commonWordList contains frequent content words and no function words.
const commonWordList = `
	ask be become begin believe bring build buy call change come consider continue create cut die do expect fall
	feel find follow get give go grow happen have hear help hold include keep know lead learn leave let like live
	look lose love make mean meet mention move need offer open pay plan play provide put read reach recommend
	remain remember run say see seem send serve set share show sit speak spend stand start stay stop suggest take
	talk tell think try turn understand use wait walk want watch win work write

	air area art back bit body book business car case city community company country day discuss door education
	end eye face fact family father force friend game girl government group guy hand head health history home
	hour house idea information issue job kid kind law level life line lot man member minute moment money month
	morning mother name night number office parent part party people person place point power president problem
	program question reason research result right room school service side sort state story student study stuff
	system teacher team thing time type war water way week woman word world year

	able bad big different early few first good great high important large last little long many much new next
	old only other own public right same small sure well young

	after again ago ahead almost already also always away before currently down even ever here just lately later
	maybe more most never now off often okay only out over please really recently still then there today together
	tomorrow too up very yes yesterday yet

	anyone anything everyone everything nothing someone something
	bye great haha hello hey hi oh ok thank thanks wow yeah

	one two three four five six seven eight nine ten
	january february march april may june july august september october november december
	monday tuesday wednesday thursday friday saturday sunday am pm

	assistant message session user`

// irregularList contains entries of a base and its irregular forms, separated by semicolons. A form
// of two bases is listed with the more likely one.
const irregularList = `
	be is are was were been am being; become became; begin began begun; bend bent; bite bit bitten; blow blew
	blown; break broke broken; bring brought; build built; buy bought; catch caught; child children; choose chose
	chosen; come came; deal dealt; dig dug; do did done; draw drew drawn; dream dreamt; drink drank drunk; drive
	drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt; fight fought; find found; fly flew flown;
	foot feet; forget forgot forgotten; forgive forgave forgiven; freeze froze frozen; get got gotten; give gave
	given; go went gone; good better best; bad worse worst; grow grew grown; hang hung; have has had; hear heard;
	hide hid hidden; hold held; keep kept; know knew known; lay laid; lead led; learn learnt; leave left; lend
	lent; life lives; lose lost; make made; man men; mean meant; meet met; mouse mice; pay paid; person people;
	ride rode ridden; ring rang rung; rise rose risen; run ran; say said; see saw seen; seek sought; sell sold;
	send sent; shake shook shaken; shine shone; shoot shot; show shown; sing sang sung; sink sank sunk; sit sat;
	sleep slept; speak spoke spoken; spend spent; stand stood; steal stole stolen; stick stuck; strike struck;
	swear swore sworn; swim swam swum; swing swung; take took taken; teach taught; tear tore torn; tell told;
	think thought; throw threw thrown; tooth teeth; understand understood; wake woke woken; wear wore worn; wife
	wives; win won; woman women; write wrote written`
